//! A function that is called with all values of a group. Each argument is a list for
//! each group; of one group the lists may differ in length, as NULLs are left out.

use super::{Failure, Options, panics};
use arroyo_udf_plugin::arrow::array::{ArrayData, MutableArrayData};
use arroyo_udf_plugin::arrow::ffi::from_ffi;
use arroyo_udf_plugin::{FfiArraySchema, FfiArrays, RunResult};

pub fn call(arguments: Vec<ArrayData>, _: &Options) -> Result<FfiArraySchema, Failure> {
    let groups = arguments[0].len();
    let mut results = Vec::with_capacity(groups);
    for group in 0..groups {
        let values = arguments.iter().map(|lists| values(lists, group)).collect();
        let RunResult::Ok(FfiArraySchema(array, schema)) =
            crate::__run(FfiArrays::from_vec(values))
        else {
            return Err(Failure::Failed(panics::last()));
        };
        let result = unsafe { from_ffi(array, &schema) };
        results.push(result.map_err(|error| Failure::Failed(error.to_string()))?);
    }
    // Each is an array of one row.
    let mut all = MutableArrayData::new(results.iter().collect(), true, groups);
    for group in 0..groups {
        all.extend(group, 0, 1);
    }
    Ok(FfiArraySchema::from_data(all.freeze()))
}

/// The values of one group.
fn values(lists: &ArrayData, group: usize) -> ArrayData {
    let offsets = &lists.buffer::<i32>(0)[group..group + 2]; // an offset of lists is in it
    let (start, end) = (offsets[0] as usize, offsets[1] as usize);
    lists.child_data()[0].slice(start, end - start)
}
