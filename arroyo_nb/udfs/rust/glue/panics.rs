//! What the last panic said. Rust would print it where nobody looks.

use std::cell::RefCell;
use std::panic::{Location, PanicHookInfo, set_hook};
use std::sync::{Mutex, Once, PoisonError};

const SOURCE: &str = "src/lib.rs";

// A function may panic in a thread of its own, and async ones run in one: what the
// calling thread has said comes first, then what any of them has.
thread_local!(static HERE: RefCell<Option<String>> = const { RefCell::new(None) });
static ANYWHERE: Mutex<Option<String>> = Mutex::new(None);

/// Forgets what was said, and remembers what is said from now on.
pub fn remember() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_hook(Box::new(|panic| {
            let said = text(panic);
            let _ = HERE.try_with(|here| here.replace(Some(said.clone())));
            *ANYWHERE.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
        }))
    });
    HERE.take();
    ANYWHERE.lock().unwrap_or_else(PoisonError::into_inner).take();
}

/// What the last panic said.
pub fn last() -> String {
    let anywhere = || ANYWHERE.lock().unwrap_or_else(PoisonError::into_inner).take();
    HERE.take().or_else(anywhere).unwrap_or_else(|| "panicked".into())
}

fn text(panic: &PanicHookInfo) -> String {
    let payload = panic.payload();
    let said = payload.downcast_ref::<&str>().map(|text| text.to_string());
    let said = said.or_else(|| payload.downcast_ref::<String>().cloned());
    let said = said.unwrap_or_else(|| "a value that is no text".into());
    format!("panicked at {}: {said}", panic.location().map_or("?".into(), place))
}

/// The line of the user's source, or of the file of another crate.
fn place(at: &Location) -> String {
    if at.file() == SOURCE {
        return format!("line {}", at.line());
    }
    // /home/me/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/regex-1.12/src/lib.rs
    let file = at.file().split_once("/registry/src/").map_or(at.file(), |parts| {
        parts.1.split_once('/').map_or(parts.1, |inner| inner.1)
    });
    format!("{file}:{}", at.line())
}
