//! Enums whose variants have names in traces and messages.

/// Declares an enum with a name for each variant. The enum gets `ALL`, its variants in order, and
/// `name`.
macro_rules! named {
    (
        $(#[$outer:meta])*
        pub enum $enum:ident {
            $( $(#[$inner:meta])* $variant:ident $(= $number:literal)? => $name:literal, )+
        }
    ) => {
        $(#[$outer])*
        pub enum $enum {
            $( $(#[$inner])* $variant $(= $number)?, )+
        }

        impl $enum {
            /// All variants in their order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in traces and messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

pub(crate) use named;
