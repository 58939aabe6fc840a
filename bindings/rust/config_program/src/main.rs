//! Says whether TensorFlow has an op of this library, which it loads.

use std::ffi::{CStr, CString};
use tensorflow_sys as tf;

fn main() {
    let library = CString::new(env!("TENSORFLOW_EXT_LIBRARY")).unwrap();
    let op = CString::new("TfExt>Relu").unwrap();
    unsafe {
        let status = tf::TF_NewStatus();
        tf::TF_LoadLibrary(library.as_ptr(), status);
        assert_eq!(tf::TF_GetCode(status), 0);
        tf::TF_GraphGetOpDef(tf::TF_NewGraph(), op.as_ptr(), tf::TF_NewBuffer(), status);
        assert_eq!(tf::TF_GetCode(status), 0);
        let version = CStr::from_ptr(tf::TF_Version()).to_str().unwrap();
        println!("TensorFlow {version} has TfExt>Relu");
    }
}
