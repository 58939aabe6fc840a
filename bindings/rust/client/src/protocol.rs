//! Reads requests and writes answers; tests/clients/README.md describes the protocol.

use std::io::{self, ErrorKind, Read, Write};

/// The values of a tensor in the protocol.
#[derive(Clone, Debug)]
pub struct Values {
    /// TensorFlow's `DataType`.
    pub data_type: i64,
    pub shape: Vec<u64>,
    pub content: Content,
}

/// Row-major.
#[derive(Clone, Debug)]
pub enum Content {
    /// In their memory layout.
    Plain(Vec<u8>),
    Strings(Vec<Vec<u8>>),
}

const STRING: i64 = 7;

/// The error of a malformed request.
pub fn malformed(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.into())
}

pub fn read_int(from: &mut impl Read) -> io::Result<i64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(i64::from_le_bytes(bytes))
}

fn read_size(from: &mut impl Read) -> io::Result<u64> {
    u64::try_from(read_int(from)?).map_err(|_| malformed("a negative size"))
}

pub fn read_bytes(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let size = read_size(from)?;
    let mut bytes = Vec::new();
    let found = from.take(size).read_to_end(&mut bytes)?;
    if found as u64 == size {
        Ok(bytes)
    } else {
        Err(ErrorKind::UnexpectedEof.into())
    }
}

pub fn read_string(from: &mut impl Read) -> io::Result<String> {
    String::from_utf8(read_bytes(from)?).map_err(|error| malformed(error.to_string()))
}

pub fn read_list<R: Read, T>(
    from: &mut R,
    read_item: impl Fn(&mut R) -> io::Result<T>,
) -> io::Result<Vec<T>> {
    (0..read_size(from)?).map(|_| read_item(from)).collect()
}

pub fn read_index(from: &mut impl Read) -> io::Result<usize> {
    Ok(read_size(from)? as usize)
}

pub fn read_tensor(from: &mut impl Read) -> io::Result<Values> {
    let data_type = read_int(from)?;
    let shape = read_list(from, read_size)?;
    let content = if data_type == STRING {
        Content::Strings(read_list(from, read_bytes)?)
    } else {
        Content::Plain(read_bytes(from)?)
    };
    Ok(Values {
        data_type,
        shape,
        content,
    })
}

pub fn write_int(to: &mut impl Write, value: i64) -> io::Result<()> {
    to.write_all(&value.to_le_bytes())
}

pub fn write_bytes(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    write_int(to, bytes.len() as i64)?;
    to.write_all(bytes)
}

pub fn write_list<W: Write, T>(
    to: &mut W,
    items: &[T],
    write_item: impl Fn(&mut W, &T) -> io::Result<()>,
) -> io::Result<()> {
    write_int(to, items.len() as i64)?;
    items.iter().try_for_each(|item| write_item(to, item))
}

pub fn write_tensor(to: &mut impl Write, tensor: &Values) -> io::Result<()> {
    write_int(to, tensor.data_type)?;
    write_list(to, &tensor.shape, |to, size| write_int(to, *size as i64))?;
    match &tensor.content {
        Content::Plain(bytes) => write_bytes(to, bytes),
        Content::Strings(strings) => write_list(to, strings, |to, text| write_bytes(to, text)),
    }
}
