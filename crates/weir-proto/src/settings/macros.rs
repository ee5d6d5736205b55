//! The three macros that declare settings.

/// The text of a doc comment, line by line.
#[doc(hidden)]
#[macro_export]
macro_rules! settings_doc {
    ($(#[$($attribute:tt)*])*) => {
        concat!($($crate::settings_doc!(@line $($attribute)*)),*)
    };
    (@line doc = $text:literal) => { concat!($text, "\n") };
    (@line $($other:tt)*) => { "" };
}

/// Declares enums whose values are words.
///
/// ```
/// weir_proto::keywords! {
///     /// Where a packet is dropped.
///     #[derive(Default)]
///     pub enum Drop {
///         /// At the end of the queue.
///         #[default]
///         Tail = "tail",
///         /// At its beginning.
///         Head = "head",
///         /// After so many packets.
///         After(u32) => weir_proto::settings::count(1..=100, "packets"),
///     }
/// }
/// ```
///
/// A variant with a value is written as that value, in the form behind `=>`; one such variant is
/// allowed. The enum has `keywords()`; it is `Clone`, `Copy`, `Debug` and `PartialEq`, and `Eq` if
/// no variant has a value.
#[macro_export]
macro_rules! keywords {
    ($( $(#[$($outer:tt)*])* $vis:vis enum $name:ident { $($body:tt)* } )+) => {
        $( $crate::keywords! { @one $(#[$($outer)*])* $vis enum $name { $($body)* } } )+
    };
    (
        @one
        $(#[$($outer:tt)*])*
        $vis:vis enum $name:ident {
            $(
                $(#[$($inner:tt)*])*
                $variant:ident $(= $word:literal)? $(($ty:ty) => $form:expr)?
            ),+ $(,)?
        }
    ) => {
        $(#[$($outer)*])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $vis enum $name {
            $( $(#[$($inner)*])* $variant $(($ty))?, )+
        }

        $crate::keywords!(@eq $name $($($ty)?)+);

        impl $name {
            /// The words with their documentation.
            $vis fn keywords() -> Vec<$crate::settings::Keyword> {
                let words = [$( $crate::keywords!(@word $($word)?) ),+];
                let docs = [$( $crate::settings_doc!($(#[$($inner)*])*) ),+];
                let keyword = |(word, doc): (Option<&'static str>, &'static str)| {
                    Some($crate::settings::Keyword { word: word?, doc })
                };
                words.into_iter().zip(docs).filter_map(keyword).collect()
            }
        }

        impl $crate::settings::Value for $name {
            fn read(
                &mut self,
                value: &$crate::settings::Spanned,
                reader: &mut $crate::settings::Reader<'_>,
            ) -> Result<(), $crate::settings::Diagnostic> {
                let _ = &reader;
                match value.raw.as_text() {
                    $( $( Some($word) => *self = Self::$variant, )? )+
                    _ => {
                        $( $(
                            let mut inner = <$ty>::default();
                            let form = $form;
                            $crate::settings::Form::<$ty>::read(&form, &mut inner, value, reader)
                                .map_err(|wrong| {
                                    let kind = $crate::settings::Form::kind(&form, &inner);
                                    wrong.or_keywords(kind.noun(), &Self::keywords())
                                })?;
                            *self = Self::$variant(inner);
                            return Ok(());
                        )? )+
                        #[allow(unreachable_code)]
                        $crate::settings::find_keyword(&Self::keywords(), &value.raw)?;
                    }
                }
                Ok(())
            }

            fn write(&self) -> $crate::settings::Raw {
                match self {
                    $( $( Self::$variant => $crate::settings::Raw::Text($word.to_owned()), )? )+
                    $( $(
                        Self::$variant(inner) => {
                            $crate::settings::Form::<$ty>::write(&$form, inner)
                        }
                    )? )+
                }
            }

            fn kind(&self) -> $crate::settings::Kind {
                let words = $crate::settings::Kind::Keywords(Self::keywords());
                $( $(
                    let value = $crate::settings::Form::<$ty>::kind(&$form, &<$ty>::default());
                    return $crate::settings::Kind::AnyOf(vec![words, value]);
                )? )+
                #[allow(unreachable_code)]
                words
            }
        }
    };
    (@eq $name:ident) => {
        impl Eq for $name {}
    };
    (@eq $name:ident $($ty:ty)+) => {};
    (@word) => { None };
    (@word $word:literal) => { Some($word) };
}

/// Declares a struct whose fields are the keys of a table.
///
/// ```
/// use weir_proto::settings::{bytes, count, or_word};
/// weir_proto::settings! {
///     /// A queue.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Queue {
///         /// The most packets that it holds.
///         pub limit: u32 = 1000 => count(1..=100_000, "packets"),
///         /// The least packet that it drops, in bytes; "any" for all.
///         pub smallest: Option<u32> as "drop_from" = Some(40)
///             => or_word("any", bytes(1..=65_535)),
///         /// Which packets it drops.
///         pub ecn: bool,
///         /// Where it is: no key of its table.
///         pub index: usize [internal],
///     }
/// }
/// assert_eq!(Queue::default().limit, 1000);
/// ```
///
/// `FIELD: TYPE as "KEY" [MODE] = DEFAULT => FORM`, of which all but the first two may be left
/// out: the key is the field's name, the default that of the type, the form that of the type. A
/// mode is `required` (the key must be there), `flatten` (the field's own keys stand in this
/// table), `internal` (no key). `Default` is implemented from the defaults.
///
/// After the struct the following may appear, in this order:
/// - `constant NAME;`: the defaults, of which each field has one then, make a constant.
/// - `preset KEY = FUNCTION;`: a `fn(&mut Self, &str)` that takes the values of a preset before
///   the table is read over them.
/// - `normalise = FUNCTION;`: a `fn(&mut Self)` that is called after reading.
#[macro_export]
macro_rules! settings {
    (
        $(#[$($outer:tt)*])*
        $vis:vis struct $name:ident {
            $(
                $(#[$($inner:tt)*])*
                $field_vis:vis $field:ident: $ty:ty
                $(as $key:literal)? $([$mode:ident])? $(= $default:expr)? $(=> $form:expr)?
            ),* $(,)?
        }
        $(constant $constant:ident;)?
        $(preset $preset:ident = $apply:expr;)?
        $(normalise = $normalise:expr;)?
    ) => {
        $(#[$($outer)*])*
        $vis struct $name {
            $( $(#[$($inner)*])* $field_vis $field: $ty, )*
        }

        $crate::settings!(@defaults $name [$($constant)?] $( $field ($($default)?) )*);

        impl $crate::settings::Settings for $name {
            const DOC: &'static str = $crate::settings_doc!($(#[$($outer)*])*);
            $(
                const PRESET: Option<&'static str> = Some(stringify!($preset));
                fn apply_preset(&mut self, name: &str) {
                    ($apply)(self, name);
                }
            )?
            $(
                fn normalise(&mut self) {
                    ($normalise)(self);
                }
            )?

            fn read_fields(&mut self, reader: &mut $crate::settings::Reader<'_>) {
                let _ = &reader;
                $( $crate::settings!(
                    @read [$($mode)?] reader, (self.$field),
                    ($crate::settings!(@key $field $($key)?)),
                    ($crate::settings_doc!($(#[$($inner)*])*)), ($crate::settings!(@form $($form)?))
                ); )*
            }

            fn write_fields(&self, table: &mut $crate::settings::Table) {
                let _ = &table;
                $( $crate::settings!(
                    @write [$($mode)?] table, (self.$field),
                    ($crate::settings!(@key $field $($key)?)), ($crate::settings!(@form $($form)?))
                ); )*
            }

            fn fields(&self) -> Vec<$crate::settings::FieldKind> {
                let fields: Vec<Vec<$crate::settings::FieldKind>> = vec![$( $crate::settings!(
                    @describe [$($mode)?] (self.$field),
                    ($crate::settings!(@key $field $($key)?)),
                    ($crate::settings_doc!($(#[$($inner)*])*)), ($crate::settings!(@form $($form)?))
                ) ),*];
                fields.concat()
            }
        }

        impl $crate::settings::Value for $name {
            fn read(
                &mut self,
                value: &$crate::settings::Spanned,
                reader: &mut $crate::settings::Reader<'_>,
            ) -> Result<(), $crate::settings::Diagnostic> {
                $crate::settings::read_section(self, value, reader);
                Ok(())
            }

            fn write(&self) -> $crate::settings::Raw {
                $crate::settings::Raw::Table($crate::settings::write(self))
            }

            fn kind(&self) -> $crate::settings::Kind {
                $crate::settings::Kind::Table($crate::settings::describe(self))
            }

            fn read_absent(&mut self, reader: &mut $crate::settings::Reader<'_>) {
                $crate::settings::read_no_section(self, reader);
            }
        }
    };

    (@defaults $name:ident [] $($field:ident ($($default:expr)?))*) => {
        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $crate::settings!(@default $($default)?), )* }
            }
        }
    };
    (@defaults $name:ident [$constant:ident] $($field:ident ($default:expr))*) => {
        impl $name {
            /// The defaults.
            pub const $constant: Self = Self { $( $field: $default, )* };
        }

        impl Default for $name {
            fn default() -> Self {
                Self::$constant
            }
        }
    };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@form) => { $crate::settings::natural() };
    (@form $form:expr) => { $form };
    (@presence) => { $crate::settings::Presence::Optional };
    (@presence required) => { $crate::settings::Presence::Required };

    (@read [internal] $($rest:tt)*) => {};
    (@read [flatten] $reader:ident, ($($slot:tt)*), $($rest:tt)*) => {
        $crate::settings::read_settings(&mut $($slot)*, $reader)
    };
    (@read [$($mode:ident)?] $reader:ident, ($($slot:tt)*), $key:tt, $doc:tt, $form:tt) => {
        $reader.field(
            &$crate::settings::Field {
                key: $key,
                doc: $doc,
                presence: $crate::settings!(@presence $($mode)?),
            },
            &$form,
            &mut $($slot)*,
        )
    };

    (@write [internal] $($rest:tt)*) => {};
    (@write [flatten] $table:ident, ($($slot:tt)*), $($rest:tt)*) => {
        $crate::settings::Settings::write_fields(&$($slot)*, $table)
    };
    (@write [$($mode:ident)?] $table:ident, ($($slot:tt)*), $key:tt, $form:tt) => {
        $table.put($key, $crate::settings::Form::write(&$form, &$($slot)*))
    };

    (@describe [internal] $($rest:tt)*) => { Vec::new() };
    (@describe [flatten] ($($slot:tt)*), $($rest:tt)*) => {
        $crate::settings::Settings::fields(&$($slot)*)
    };
    (@describe [$($mode:ident)?] ($($slot:tt)*), $key:tt, $doc:tt, $form:tt) => {
        vec![$crate::settings::describe_field(
            &$crate::settings::Field {
                key: $key,
                doc: $doc,
                presence: $crate::settings!(@presence $($mode)?),
            },
            &$form,
            &$($slot)*,
        )]
    };
}

/// Declares an enum of tables that a key `kind` tells apart: a registry.
///
/// ```
/// # weir_proto::settings! {
/// #     /// Drops early.
/// #     #[derive(Clone, Debug, PartialEq)]
/// #     pub struct Early {
/// #         /// The most packets that it holds.
/// #         pub limit: u64 = 1 => weir_proto::settings::count(1..=9, "packets"),
/// #     }
/// # }
/// weir_proto::kinds! {
///     /// What waits where.
///     #[derive(Clone, Debug, PartialEq)]
///     pub enum Queue {
///         /// Nothing waits.
///         None = "none",
///         /// Drops before it is full.
///         Early(Early) = "early",
///     }
/// }
/// ```
///
/// `alone "random" "rate"` behind the enum lets a number stand for the table of this kind with this
/// key. A variant holds nothing or one struct of [`settings!`](crate::settings!), boxed or not;
/// without documentation of its own it has that of its struct. The enum implements
/// [`Variants`](crate::settings::Variants); `Default` is the caller's.
#[macro_export]
macro_rules! kinds {
    (
        $(#[$($outer:tt)*])*
        $vis:vis enum $name:ident {
            $(
                $(#[$($inner:tt)*])*
                $variant:ident $(($ty:ty))? = $word:literal
            ),+ $(,)?
        }
        $(alone $kind:literal $key:literal)?
    ) => {
        $(#[$($outer)*])*
        $vis enum $name {
            $( $(#[$($inner)*])* $variant $(($ty))?, )+
        }

        impl $crate::settings::Variants for $name {
            $( const ALONE: Option<(&'static str, &'static str)> = Some(($kind, $key)); )?

            fn keywords() -> Vec<$crate::settings::Keyword> {
                vec![$( $crate::settings::Keyword {
                    word: $word,
                    doc: $crate::kinds!(@doc ($crate::settings_doc!($(#[$($inner)*])*)) $($ty)?),
                } ),+]
            }

            fn of_kind(word: &str) -> Option<Self> {
                match word {
                    $( $word => Some(Self::$variant $((<$ty>::default()))?), )+
                    _ => None,
                }
            }

            fn word(&self) -> &'static str {
                match self {
                    $( Self::$variant { .. } => $word, )+
                }
            }

            #[allow(unreachable_patterns, unused_variables)]
            fn read_fields(&mut self, reader: &mut $crate::settings::Reader<'_>) {
                match self {
                    $( $(
                        Self::$variant(inner) => {
                            $crate::settings::read_settings::<$ty>(inner, reader);
                        }
                    )? )+
                    _ => {}
                }
            }

            #[allow(unreachable_patterns, unused_variables)]
            fn write_fields(&self, table: &mut $crate::settings::Table) {
                match self {
                    $( $(
                        Self::$variant(inner) => {
                            <$ty as $crate::settings::Settings>::write_fields(inner, table);
                        }
                    )? )+
                    _ => {}
                }
            }

            #[allow(unreachable_patterns)]
            fn table(&self) -> $crate::settings::TableKind {
                match self {
                    $( $( Self::$variant(inner) => $crate::settings::describe::<$ty>(inner), )? )+
                    _ => $crate::settings::TableKind::default(),
                }
            }
        }

        impl $crate::settings::Value for $name {
            fn read(
                &mut self,
                value: &$crate::settings::Spanned,
                reader: &mut $crate::settings::Reader<'_>,
            ) -> Result<(), $crate::settings::Diagnostic> {
                $crate::settings::read_variants(self, value, reader);
                Ok(())
            }

            fn write(&self) -> $crate::settings::Raw {
                $crate::settings::Raw::Table($crate::settings::write_variants(self))
            }

            fn kind(&self) -> $crate::settings::Kind {
                $crate::settings::Kind::Variants(
                    $crate::settings::describe_variants::<Self>(),
                )
            }
        }
    };
    (@doc ($doc:expr)) => { $doc };
    (@doc ($doc:expr) $ty:ty) => {
        if $doc.is_empty() { <$ty as $crate::settings::Settings>::DOC } else { $doc }
    };
}
