//! An async function: so many of its calls wait at a time, on one thread.
//!
//! The thread and its Tokio live as long as the worker, as in Arroyo those of an
//! operator do: a client that the function keeps in a static belongs to the Tokio it was
//! made in, batch after batch. Arroyo's own queue is passed by, as it gives no reason
//! for a panic and waits for ever after one; its macro's `__wrapper`, which calls the
//! function for one row and measures the time, is what is called here too.

use super::{Failure, Options, panics};
use arroyo_udf_plugin::arrow::array::*;
use arroyo_udf_plugin::async_udf::FuturesEnum;
use arroyo_udf_plugin::async_udf::tokio::runtime::{Builder, Handle};
use arroyo_udf_plugin::{ArrowDatum, FfiArraySchema};
use std::future::pending;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How much longer than its timeout a call may be silent: one that blocks its thread
/// keeps Tokio from seeing that the time is over.
const GRACE: Duration = Duration::from_secs(2);

enum Answer {
    /// The result of the call for one row.
    Result(u64, ArrowDatum),
    TookTooLong,
    Panicked(String),
}

/// Sends the text of the panic that ends the batch, while it does: a task that the
/// function has spawned may panic right after it, which is the function's own affair.
struct LastWords(Sender<Answer>);

impl Drop for LastWords {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.send(Answer::Panicked(panics::last()));
        }
    }
}

static TOKIO: Mutex<Option<Handle>> = Mutex::new(None);

pub fn call(arguments: Vec<ArrayData>, options: &Options) -> Result<FfiArraySchema, Failure> {
    // One batch at a time: the text of a panic is then one of this batch.
    let mut tokio = TOKIO.lock().unwrap_or_else(PoisonError::into_inner);
    let called = answers(arguments, options, tokio.get_or_insert_with(start));
    if called.is_err() {
        // Its thread may be blocked for ever: the next batch has another one.
        *tokio = None;
    }
    called.map(gathered)
}

/// Starts a thread with a Tokio.
fn start() -> Handle {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a Tokio");
    let handle = runtime.handle().clone();
    std::thread::spawn(move || runtime.block_on(pending::<()>()));
    handle
}

/// The results of all rows, in their order.
fn answers(
    arguments: Vec<ArrayData>,
    options: &Options,
    tokio: &Handle,
) -> Result<Vec<ArrowDatum>, Failure> {
    let rows = arguments[0].len();
    let timeout = Duration::from_micros(options.timeout_us);
    let (sender, receiver) = mpsc::channel();
    let calls = all_calls(arguments, timeout, options.ordered, options.in_flight, sender);
    let batch = tokio.spawn(calls);
    let mut found: Vec<Option<ArrowDatum>> = (0..rows).map(|_| None).collect();
    for _ in 0..rows {
        // Some call is always on its way, and each one ends within its timeout.
        match receiver.recv_timeout(timeout.saturating_add(GRACE)) {
            Ok(Answer::Result(row, result)) => found[row as usize] = Some(result),
            Ok(Answer::Panicked(text)) => return Err(Failure::Failed(text)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::Failed("its Tokio has ended".into()));
            }
            Ok(Answer::TookTooLong) | Err(RecvTimeoutError::Timeout) => {
                batch.abort();
                return Err(Failure::TimedOut);
            }
        }
    }
    Ok(found.into_iter().flatten().collect())
}

/// Calls the function for each row, and sends what it gives.
async fn all_calls(
    arguments: Vec<ArrayData>,
    timeout: Duration,
    ordered: bool,
    in_flight: usize,
    sender: Sender<Answer>,
) {
    let _last_words = LastWords(sender.clone());
    let mut calls = match ordered {
        true => FuturesEnum::Ordered(Default::default()),
        false => FuturesEnum::Unordered(Default::default()),
    };
    for row in 0..arguments[0].len() {
        if calls.len() >= in_flight {
            send(calls.next().await, &sender);
        }
        let values = arguments.iter().map(|array| array.slice(row, 1)).collect();
        calls.push_back(crate::__wrapper(row as u64, timeout, values));
    }
    while !calls.is_empty() {
        send(calls.next().await, &sender);
    }
}

fn send<E>(answer: Option<(u64, Result<ArrowDatum, E>)>, sender: &Sender<Answer>) {
    if let Some((row, result)) = answer {
        let result = result.map_or(Answer::TookTooLong, |datum| Answer::Result(row, datum));
        let _ = sender.send(result); // who called may have given up
    }
}

/// The results as one array.
fn gathered(results: Vec<ArrowDatum>) -> FfiArraySchema {
    let mut builder: Box<dyn ArrayBuilder> = match results[0] {
        ArrowDatum::Bool(_) => Box::new(BooleanBuilder::new()),
        ArrowDatum::U32(_) => Box::new(UInt32Builder::new()),
        ArrowDatum::U64(_) => Box::new(UInt64Builder::new()),
        ArrowDatum::I32(_) => Box::new(Int32Builder::new()),
        ArrowDatum::I64(_) => Box::new(Int64Builder::new()),
        ArrowDatum::F32(_) => Box::new(Float32Builder::new()),
        ArrowDatum::F64(_) => Box::new(Float64Builder::new()),
        ArrowDatum::String(_) => Box::new(StringBuilder::new()),
        ArrowDatum::Bytes(_) => Box::new(BinaryBuilder::new()),
        ArrowDatum::Timestamp(_) => Box::new(TimestampNanosecondBuilder::new()),
    };
    for result in results {
        result.append_to(builder.as_mut());
    }
    FfiArraySchema::from_data(builder.finish().to_data())
}
