//! Conversions between the protocol's values and the crate's tensors.
//!
//! The crate has no tensor whose type is known only at run time: every T has its own `Tensor<T>`.
//! It cannot hold strings that are not UTF-8 (its strings are Rust's), and has no type for
//! TensorFlow's 8-bit floats, 4-bit integers, resources and variants.

use std::mem::size_of;
use std::ops::Deref;
use std::panic::{self, AssertUnwindSafe};

use half::f16;
use num_complex::Complex;
use tensorflow::{
    BFloat16, Code, DataType, FetchToken, Output, Result, SessionRunArgs, Status, Tensor,
    TensorType, eager,
};

use crate::protocol::{Content, Values};

const TYPES: [(i64, DataType); 16] = [
    (1, DataType::Float),
    (2, DataType::Double),
    (3, DataType::Int32),
    (4, DataType::UInt8),
    (5, DataType::Int16),
    (6, DataType::Int8),
    (7, DataType::String),
    (8, DataType::Complex64),
    (9, DataType::Int64),
    (10, DataType::Bool),
    (14, DataType::BFloat16),
    (17, DataType::UInt16),
    (18, DataType::Complex128),
    (19, DataType::Half),
    (22, DataType::UInt32),
    (23, DataType::UInt64),
];

/// Calls a function that is generic in an element type whose memory layout is TensorFlow's.
macro_rules! for_plain_type {
    ($data_type:expr, $function:ident($($argument:expr),*)) => {
        match $data_type {
            DataType::Float => $function::<f32>($($argument),*),
            DataType::Double => $function::<f64>($($argument),*),
            DataType::Int32 => $function::<i32>($($argument),*),
            DataType::UInt8 => $function::<u8>($($argument),*),
            DataType::Int16 => $function::<i16>($($argument),*),
            DataType::Int8 => $function::<i8>($($argument),*),
            DataType::Complex64 => $function::<Complex<f32>>($($argument),*),
            DataType::Int64 => $function::<i64>($($argument),*),
            DataType::Bool => $function::<bool>($($argument),*),
            DataType::BFloat16 => $function::<BFloat16>($($argument),*),
            DataType::UInt16 => $function::<u16>($($argument),*),
            DataType::Complex128 => $function::<Complex<f64>>($($argument),*),
            DataType::Half => $function::<f16>($($argument),*),
            DataType::UInt32 => $function::<u32>($($argument),*),
            DataType::UInt64 => $function::<u64>($($argument),*),
            other => Err(error(Code::Unimplemented, format!("the crate has no tensors of {other}"))),
        }
    };
}

pub fn error(code: Code, message: impl AsRef<str>) -> Status {
    Status::new_set_lossy(code, message.as_ref())
}

/// A tensor that can be fed.
pub trait Feed {
    fn feed<'l>(&'l self, args: &mut SessionRunArgs<'l>, to: &Output);
}

impl<T: TensorType> Feed for Tensor<T> {
    fn feed<'l>(&'l self, args: &mut SessionRunArgs<'l>, to: &Output) {
        args.add_feed(&to.operation, to.index, self);
    }
}

/// The tensor of these values.
pub fn feed(values: &Values) -> Result<Box<dyn Feed>> {
    match &values.content {
        Content::Plain(bytes) => {
            for_plain_type!(type_of(values), feed_plain(&values.shape, bytes))
        }
        Content::Strings(strings) => feed_strings(&values.shape, strings),
    }
}

fn type_of(values: &Values) -> DataType {
    TYPES
        .iter()
        .find(|(number, _)| *number == values.data_type)
        .map_or(DataType::UnrecognizedEnumValue(0), |(_, found)| *found)
}

/// The tensor of these values, which are no strings, in eager mode.
pub fn handle<'a>(context: &'a eager::Context, values: &Values) -> Result<eager::TensorHandle<'a>> {
    match &values.content {
        Content::Plain(bytes) => {
            for_plain_type!(type_of(values), handle_plain(context, &values.shape, bytes))
        }
        Content::Strings(_) => Err(error(Code::Unimplemented, "strings in eager mode")),
    }
}

fn handle_plain<'a, T: TensorType>(
    context: &'a eager::Context,
    shape: &[u64],
    bytes: &[u8],
) -> Result<eager::TensorHandle<'a>> {
    tensor::<T>(shape, bytes)?.into_handle(context)
}

fn feed_plain<T: TensorType>(shape: &[u64], bytes: &[u8]) -> Result<Box<dyn Feed>> {
    Ok(Box::new(tensor::<T>(shape, bytes)?))
}

/// A tensor of values in their memory layout.
pub fn tensor<T: TensorType>(shape: &[u64], bytes: &[u8]) -> Result<Tensor<T>> {
    let size = shape
        .iter()
        .try_fold(size_of::<T>() as u64, |product, size| {
            product.checked_mul(*size)
        });
    if !T::is_repr_c() || size != Some(bytes.len() as u64) {
        let message = format!(
            "{} bytes for {} of shape {shape:?}",
            bytes.len(),
            T::data_type()
        );
        return Err(error(Code::InvalidArgument, message));
    }
    if T::data_type() == DataType::Bool && bytes.iter().any(|byte| *byte > 1) {
        return Err(error(
            Code::InvalidArgument,
            "a bool that is neither 0 nor 1",
        ));
    }
    let mut tensor = Tensor::<T>::new(shape);
    // An empty tensor has no address that is valid for a slice.
    if !bytes.is_empty() {
        // SAFETY: T has the layout of TensorFlow's type (is_repr_c), every bit pattern is a value
        // of it (bool: see above), and the tensor is as long as the bytes.
        unsafe {
            let values = tensor.as_mut_ptr().cast::<u8>();
            values.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }
    Ok(tensor)
}

fn feed_strings(shape: &[u64], strings: &[Vec<u8>]) -> Result<Box<dyn Feed>> {
    let strings: Vec<String> = strings
        .iter()
        .map(|bytes| String::from_utf8(bytes.clone()))
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| error(Code::Unimplemented, "the crate's strings are UTF-8"))?;
    Ok(Box::new(Tensor::new(shape).with_values(&strings)?))
}

/// The values of the `index`-th fetch.
pub fn fetch(args: &mut SessionRunArgs, index: usize, token: FetchToken) -> Result<Values> {
    let data_type = args
        .output_data_type(index)
        .ok_or_else(|| error(Code::Internal, "nothing was fetched"))?;
    let number = number_of(data_type);
    if data_type == DataType::String {
        return fetch_strings(args, token, number);
    }
    for_plain_type!(data_type, fetch_plain(args, token, number))
}

fn number_of(data_type: DataType) -> i64 {
    let number = TYPES.iter().find(|(_, known)| *known == data_type);
    number.map_or(0, |(number, _)| *number)
}

fn fetch_plain<T: TensorType>(
    args: &mut SessionRunArgs,
    token: FetchToken,
    data_type: i64,
) -> Result<Values> {
    let tensor = args.fetch::<T>(token)?;
    Ok(plain(data_type, tensor.dims(), &tensor))
}

/// The values of a tensor of eager mode, which is no string.
pub fn resolve(handle: &eager::TensorHandle) -> Result<Values> {
    let data_type = handle.data_type();
    for_plain_type!(data_type, resolve_plain(handle, number_of(data_type)))
}

fn resolve_plain<T: TensorType>(handle: &eager::TensorHandle, data_type: i64) -> Result<Values> {
    let tensor = handle.resolve::<T>()?;
    Ok(plain(data_type, tensor.dims(), &tensor))
}

fn plain<T: TensorType, D: Deref<Target = [T]>>(
    data_type: i64,
    shape: &[u64],
    tensor: &D,
) -> Values {
    let size = size_of::<T>() * shape.iter().product::<u64>() as usize;
    let mut bytes = vec![0; size];
    if size != 0 {
        // SAFETY: the tensor has that many bytes, and none of them is padding.
        unsafe {
            let values = tensor.as_ptr().cast::<u8>();
            values.copy_to_nonoverlapping(bytes.as_mut_ptr(), size);
        }
    }
    Values {
        data_type,
        shape: shape.to_vec(),
        content: Content::Plain(bytes),
    }
}

fn fetch_strings(args: &mut SessionRunArgs, token: FetchToken, data_type: i64) -> Result<Values> {
    let tensor = args.fetch::<String>(token)?;
    // The crate panics on bytes that are not UTF-8.
    let strings = panic::catch_unwind(AssertUnwindSafe(|| {
        tensor
            .iter()
            .map(|text| text.clone().into_bytes())
            .collect()
    }))
    .map_err(|_| error(Code::Unimplemented, "the crate's strings are UTF-8"))?;
    Ok(Values {
        data_type,
        shape: tensor.dims().to_vec(),
        content: Content::Strings(strings),
    })
}
