//! A function that is called once for each row: Arroyo's macro has the loop.

use super::{Failure, Options, panics};
use arroyo_udf_plugin::arrow::array::ArrayData;
use arroyo_udf_plugin::{FfiArraySchema, FfiArrays, RunResult};

pub fn call(arguments: Vec<ArrayData>, _: &Options) -> Result<FfiArraySchema, Failure> {
    match crate::__run(FfiArrays::from_vec(arguments)) {
        RunResult::Ok(result) => Ok(result),
        RunResult::Err => Err(Failure::Failed(panics::last())),
    }
}
