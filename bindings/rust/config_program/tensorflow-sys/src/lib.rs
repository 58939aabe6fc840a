//! The functions of TensorFlow's C API that the program calls.

use std::ffi::{c_char, c_int, c_void};

extern "C" {
    pub fn TF_GetCode(status: *const c_void) -> c_int;
    pub fn TF_GraphGetOpDef(
        graph: *mut c_void,
        op: *const c_char,
        op_def: *mut c_void,
        status: *mut c_void,
    );
    pub fn TF_LoadLibrary(path: *const c_char, status: *mut c_void) -> *mut c_void;
    pub fn TF_NewBuffer() -> *mut c_void;
    pub fn TF_NewGraph() -> *mut c_void;
    pub fn TF_NewStatus() -> *mut c_void;
    pub fn TF_Version() -> *const c_char;
}
