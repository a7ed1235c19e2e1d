//! What a Python worker calls. Arrow's C data interface goes in and out by pointers.
//!
//! Arroyo's own entry takes and gives structs by value, and ends its process where an
//! argument is not what it expects. This one checks the arguments, and gives a text for
//! whatever goes wrong. It is compiled with the user's function, in a module of its own:
//! so the lines of `src/lib.rs` are those of the user.

#![allow(warnings)] // the source may have #![deny(warnings)], which is not about this

use arroyo_udf_plugin::FfiArraySchema;
use arroyo_udf_plugin::arrow::array::ArrayData;
use arroyo_udf_plugin::arrow::ffi::from_ffi;
use std::panic::{AssertUnwindSafe, catch_unwind};

mod call; // rows.rs, groups.rs or async.rs: how a function of this kind is called
mod panics;

/// What the author of an async function says in `#[udf(...)]`.
pub struct Options {
    pub ordered: bool,
    pub timeout_us: u64,
    pub in_flight: usize,
}

/// Why a batch has no result.
pub enum Failure {
    /// The function panicked, or was given what it cannot take.
    Failed(String),
    /// A call of an async function took longer than its timeout.
    TimedOut,
}

const DONE: i32 = 0;
const FAILED: i32 = 1;
const TIMED_OUT: i32 = 2;

/// Calls the function with a batch.
///
/// Takes `count` arguments: they are released here, whatever happens. Writes `result`
/// and gives 0; else writes at most `capacity` bytes to `message`, the last one 0.
///
/// # Safety
///
/// `arguments` points at `count` pairs of an ArrowArray and an ArrowSchema, `result` at
/// the room for one, `message` at `capacity` > 0 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn arroyo_nb_call(
    arguments: *const FfiArraySchema,
    count: usize,
    result: *mut FfiArraySchema,
    ordered: bool,
    timeout_us: u64,
    in_flight: u32,
    message: *mut u8,
    capacity: usize,
) -> i32 {
    panics::remember();
    let in_flight = in_flight as usize;
    let options = Options { ordered, timeout_us, in_flight };
    let called = catch_unwind(AssertUnwindSafe(|| {
        // All of them first: one that is refused must not keep the others from release.
        let taken: Vec<_> =
            (0..count).map(|i| unsafe { arguments.add(i).read() }).collect();
        call::call(checked(taken)?, &options)
    }));
    match called.unwrap_or_else(|_| Err(Failure::Failed(panics::last()))) {
        Ok(array) => {
            unsafe { result.write(array) };
            DONE
        }
        Err(Failure::TimedOut) => TIMED_OUT,
        Err(Failure::Failed(text)) => {
            unsafe { write(&text, message, capacity) };
            FAILED
        }
    }
}

/// The arguments as Rust has them: aligned, of one length, all text in UTF-8.
fn checked(taken: Vec<FfiArraySchema>) -> Result<Vec<ArrayData>, Failure> {
    let mut arrays = Vec::with_capacity(taken.len());
    for (place, FfiArraySchema(array, schema)) in taken.into_iter().enumerate() {
        let wrong = |error| Failure::Failed(format!("argument {place}: {error}"));
        let mut data = unsafe { from_ffi(array, &schema) }.map_err(wrong)?;
        data.align_buffers();
        data.validate_full().map_err(wrong)?;
        arrays.push(data);
    }
    if arrays.iter().any(|array| array.len() != arrays[0].len()) {
        return Err(Failure::Failed("the arguments differ in length".into()));
    }
    Ok(arrays)
}

/// Writes a text for C, cut at the end of a character.
unsafe fn write(text: &str, to: *mut u8, capacity: usize) {
    let mut length = text.len().min(capacity - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    unsafe {
        text.as_ptr().copy_to_nonoverlapping(to, length);
        to.add(length).write(0);
    }
}
