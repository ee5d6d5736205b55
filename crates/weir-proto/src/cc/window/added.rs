//! Controllers that a program adds to the registry at run time, such as those written in Python.
//! Scenarios find them by name like the built-in ones.
//!
//! The registry and its added names belong to the process; a run that uses an added controller is
//! as deterministic as the controller.

use super::{BoxedController, ControllerEntry, REGISTRY, WindowConfig, new_reno};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// Makes a controller at its initial window.
pub type Factory = Arc<dyn Fn(&WindowConfig) -> BoxedController + Send + Sync>;

/// Why a controller cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddError {
    /// The registry has a controller of this name.
    BuiltIn,
    /// The name is not a word of letters, digits, `-` and `_`.
    Name,
    /// All places are taken.
    Full,
}

impl fmt::Display for AddError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("the name is that of a built-in controller"),
            Self::Name => f.write_str("a name has letters, digits, \"-\" and \"_\", at most 64"),
            Self::Full => write!(f, "a process has at most {PLACES} controllers of its own"),
        }
    }
}

impl std::error::Error for AddError {}

/// A function pointer has no state, so each place for an added controller has a function of its own
/// that reads the place.
static ADDED: RwLock<Vec<Added>> = RwLock::new(Vec::new());

struct Added {
    entry: &'static ControllerEntry,
    factory: Factory,
}

macro_rules! places {
    ($($place:literal)+) => {
        /// The functions of all places.
        const MAKERS: &[fn(&WindowConfig) -> BoxedController] = &[$(make_at::<$place>),+];
    };
}

places!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

/// The most controllers that a process can add.
const PLACES: usize = MAKERS.len();

fn make_at<const PLACE: usize>(config: &WindowConfig) -> BoxedController {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    let factory = added.get(PLACE).map(|added| Arc::clone(&added.factory));
    drop(added);
    match factory {
        Some(factory) => factory(config),
        // Only entries of taken places have these functions.
        None => (new_reno::ENTRY.make)(config),
    }
}

/// True if the process has added a controller.
pub fn any() -> bool {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    !added.is_empty()
}

/// Adds a controller, or replaces the added controller of this name.
///
/// # Errors
/// [`AddError`].
pub fn add(name: &str, doc: &str, factory: Factory) -> Result<(), AddError> {
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-_".contains(&octet);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_plain) {
        return Err(AddError::Name);
    }
    if REGISTRY.iter().any(|entry| entry.name == name) {
        return Err(AddError::BuiltIn);
    }
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = added.iter_mut().find(|known| known.entry.name == name) {
        known.factory = factory;
        return Ok(());
    }
    let make = *MAKERS.get(added.len()).ok_or(AddError::Full)?;
    // The number of places bounds the memory that is leaked here.
    let entry = Box::leak(Box::new(ControllerEntry {
        name: Box::leak(name.to_owned().into_boxed_str()),
        doc: Box::leak(doc.to_owned().into_boxed_str()),
        rules: &[],
        make,
    }));
    added.push(Added { entry, factory });
    Ok(())
}

/// The entries of all added controllers.
pub(super) fn entries() -> Vec<&'static ControllerEntry> {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    added.iter().map(|added| added.entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::window::{find, keywords, named};

    #[test]
    fn an_added_controller_is_found_by_its_name() {
        let twice = |packets: u64| -> Factory {
            Arc::new(move |config| {
                let initial_window = Some(packets * config.max_datagram_size);
                named(
                    "newreno",
                    &WindowConfig {
                        initial_window,
                        ..*config
                    },
                )
                .unwrap()
            })
        };
        let window = || {
            named("of-a-test", &WindowConfig::default())
                .unwrap()
                .window()
        };
        assert_eq!(find("of-a-test"), None);
        add("of-a-test", "what it is", twice(20)).unwrap();
        assert_eq!(window(), 20 * 1252);
        assert!(keywords().iter().any(|word| word.word == "of-a-test"));
        add("of-a-test", "what it is", twice(30)).unwrap();
        assert_eq!(window(), 30 * 1252);
        assert_eq!(add("cubic", "", twice(1)), Err(AddError::BuiltIn));
        for (name, outcome) in [
            ("two words", Err(AddError::Name)),
            ("", Err(AddError::Name)),
            (&"n".repeat(65), Err(AddError::Name)),
            (&"n".repeat(64), Ok(())),
        ] {
            assert_eq!(add(name, "", twice(1)), outcome, "{name}");
        }
    }
}
