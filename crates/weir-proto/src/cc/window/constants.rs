//! The list of the window controllers: their names, and the constants of those that have some.

use super::{Bbr1Config, BbrConfig, ControllerEntry, CopaConfig, CubicConfig};
use super::{bbr, bbr1, copa, cubic, dctcp, ledbat, new_reno, prague, tfrc};

/// Declares [`REGISTRY`] and [`Constants`] from one line for each controller: its module, and after
/// a colon the type and the documentation of its constants, if it has any.
macro_rules! controllers {
    ($( $module:ident $( : $constants:ty = $doc:literal )? ),* $(,)?) => {
        /// All window controllers, the default first. Scenarios, help texts and quinn's list of
        /// controllers are derived from it.
        pub static REGISTRY: &[ControllerEntry] = &[ $( $module::ENTRY ),* ];

        crate::settings! {
            /// The constants of the controllers that have some, each under its controller's name:
            /// keys of every transport that has window controllers.
            #[derive(Clone, Copy, Debug, PartialEq)]
            pub struct Constants {
                $( $( #[doc = $doc] pub $module: $constants, )? )*
            }
        }
    };
}

controllers! {
    new_reno,
    cubic: CubicConfig = "The constants of CUBIC (RFC 9438).",
    tfrc,
    dctcp,
    prague,
    bbr: BbrConfig = "The constants of BBR (draft-ietf-ccwg-bbr).",
    bbr1: Bbr1Config = "The constants of BBRv1 (Linux tcp_bbr).",
    ledbat,
    copa: CopaConfig = "The constants of Copa (NSDI 2018).",
}
