//! Style sheets with the colours of plots. Plots use classes instead of colours, so that the same
//! drawing works in the white file and in the page's light and dark modes.
//!
//! The first ten categorical colours are for flows and curves: they follow Okabe and Ito's set,
//! darkened on white and lightened on black until each has a contrast of at least 3:1 with its
//! background, as all others have. The next ten, brown and violet ones, are for the bounds that
//! limited a sender; the last ten, saturated ones, are for the rules that set its rate or window.
//! So no colour has two meanings.

use std::fmt::Write as _;

const LIGHT: Theme = Theme {
    paper: "#ffffff",
    ink: "#1b1f24",
    soft: "#57606a",
    grid: "#e3e6ea",
    shade: "#0072b2",
    colours: [
        "#0072b2", "#c74a00", "#00805a", "#a3418a", "#8a6100", "#b0122f", "#4b4fc4", "#5f6670",
        "#00778a", "#7a4a2b", "#6a8f2c", "#b9770e", "#d0547f", "#3d5a80", "#8e6bbf", "#b03a2e",
        "#2a9d8f", "#84909d", "#a0703a", "#574b90", "#630d31", "#1f12d8", "#e012d8", "#079a00",
        "#2b3f04", "#ee1210", "#7a10c8", "#c859de", "#f0127a", "#073b4c",
    ],
};
const DARK: Theme = Theme {
    paper: "#14171b",
    ink: "#e8eaed",
    soft: "#a5adb7",
    grid: "#2c323a",
    shade: "#5db4ec",
    colours: [
        "#5db4ec", "#ff9254", "#3fc79b", "#e694cd", "#e0b040", "#ff7b8a", "#a5a8ff", "#a5adb7",
        "#45c5d6", "#cfa183", "#a8cf66", "#f0b352", "#f28fb1", "#8fb0dd", "#c3a6ee", "#f0766a",
        "#6fd6c9", "#b8c2cc", "#d9ac78", "#a99cf0", "#d9a3b4", "#5a78ff", "#ff3ad6", "#32e05a",
        "#c7f006", "#ff4a3d", "#b05cff", "#e6a6f5", "#ff5fa8", "#4fd0e8",
    ],
};

/// The colour of what went wrong; text on it has a halo.
const ALARM: &str = "#e69f00";

/// The number of categorical colours.
pub const COLOURS: usize = 30;

/// The number of colours of flows and curves, which come first.
const CATEGORIES: usize = 10;

/// The colours of flows and curves on white, and on black.
pub fn palette() -> [&'static [&'static str]; 2] {
    [&LIGHT.colours[..CATEGORIES], &DARK.colours[..CATEGORIES]]
}

struct Theme {
    paper: &'static str,
    ink: &'static str,
    soft: &'static str,
    grid: &'static str,
    shade: &'static str,
    colours: [&'static str; COLOURS],
}

impl Theme {
    fn variables(&self) -> String {
        let Self {
            paper,
            ink,
            soft,
            grid,
            shade,
            ..
        } = self;
        let mut text = format!(
            "--paper:{paper};--ink:{ink};--soft:{soft};--grid:{grid};--shade:{shade};\
             --alarm:{ALARM};"
        );
        for (number, colour) in self.colours.iter().enumerate() {
            let _ = write!(text, "--c{number}:{colour};");
        }
        text
    }
}

/// CSS rules for the plots' classes; `colour` converts the name of a colour to CSS.
fn rules(colour: impl Fn(&str) -> String) -> String {
    let (paper, ink, soft) = (colour("paper"), colour("ink"), colour("soft"));
    let (grid, shade, alarm) = (colour("grid"), colour("shade"), colour("alarm"));
    let mut text = format!(
        ".paper{{fill:{paper}}}.frame{{fill:none;stroke:{soft}}}.tick{{stroke:{soft}}}\
         .grid{{stroke:{grid}}}.minor{{stroke:{grid};stroke-opacity:.55}}\
         .t{{fill:{ink};font-size:12px}}.ts{{fill:{soft};font-size:12px}}\
         .th{{fill:{ink};font-size:15px}}.tl{{fill:{ink};font-size:11px}}\
         .halo{{stroke:{paper};stroke-width:3px;stroke-linejoin:round}}\
         .line{{fill:none;stroke-width:1.6;stroke-linejoin:round;\
         vector-effect:non-scaling-stroke}}\
         .dots{{fill:none;stroke-width:3.6;stroke-linecap:round;stroke-opacity:.75;\
         vector-effect:non-scaling-stroke}}\
         .dash1{{stroke-dasharray:6 4}}.dash2{{stroke-dasharray:2 3}}\
         .dash3{{stroke-dasharray:10 3 2 3}}.thin{{stroke-width:1.2}}\
         .band{{fill:{shade};fill-opacity:.13}}.bar{{fill-opacity:.5}}\
         .episode{{fill:{alarm};fill-opacity:.5}}\
         .dense0{{fill-opacity:.25}}.dense1{{fill-opacity:.42}}.dense2{{fill-opacity:.6}}\
         .dense3{{fill-opacity:.8}}.dense4{{fill-opacity:1}}\
         .ribbon{{fill-opacity:.22}}.span{{fill-opacity:.85}}\
         .m{{stroke:{paper};stroke-width:.8}}text.m{{stroke:none}}\
         text.halo{{stroke:{paper};stroke-width:3px}}\
         .host{{fill:{paper};stroke:{ink};stroke-width:1.2}}\
         .wire{{stroke:{soft};stroke-width:1.4}}.thick{{stroke:{ink};stroke-width:4}}\
         .mark{{fill:{paper};stroke:{ink};stroke-width:1.6}}"
    );
    for number in 0..COLOURS {
        let value = colour(&format!("c{number}"));
        let _ = write!(
            text,
            ".s{number}{{stroke:{value}}}.f{number}{{fill:{value}}}"
        );
    }
    text
}

/// The style of a standalone SVG file: light, with literal colours.
pub fn standalone_style() -> String {
    rules(|name| {
        let number = name.strip_prefix('c').and_then(|n| n.parse::<usize>().ok());
        let literal = match (number, name) {
            (Some(number), _) => LIGHT.colours[number % COLOURS],
            (None, "paper") => LIGHT.paper,
            (None, "ink") => LIGHT.ink,
            (None, "soft") => LIGHT.soft,
            (None, "grid") => LIGHT.grid,
            (None, "alarm") => ALARM,
            (None, _) => LIGHT.shade,
        };
        literal.to_owned()
    })
}

/// The style of plots inside a page: light or dark by the preference of the reader's system.
pub fn page_style() -> String {
    format!(
        ":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n{}\n",
        LIGHT.variables(),
        DARK.variables(),
        rules(|name| format!("var(--{name})"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.2): 0.2126 R + 0.7152 G + 0.0722 B of linear components.
    fn luminance(colour: &str) -> f64 {
        let component = |index: usize| {
            let digits = &colour[index..index + 2];
            let share = f64::from(u8::from_str_radix(digits, 16).unwrap()) / 255.0;
            if share <= 0.04045 {
                share / 12.92
            } else {
                libm::pow((share + 0.055) / 1.055, 2.4)
            }
        };
        0.2126 * component(1) + 0.7152 * component(3) + 0.0722 * component(5)
    }

    #[test]
    fn each_colour_is_another_and_stands_out_from_its_background() {
        for theme in [LIGHT, DARK] {
            for (index, colour) in theme.colours.iter().enumerate() {
                let mut both = [luminance(colour), luminance(theme.paper)];
                both.sort_by(f64::total_cmp);
                let contrast = (both[1] + 0.05) / (both[0] + 0.05);
                assert!(contrast >= 3.0, "{colour} on {}: {contrast}", theme.paper);
                assert!(!theme.colours[..index].contains(colour), "{colour} twice");
            }
        }
    }
}
