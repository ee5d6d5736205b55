//! One HTML file that contains its styles, tables, pictures and a script.
//!
//! The page is complete without its script and on paper. The script adds the values under the
//! pointer and a zoom shared by all pictures over time; it reads both from the pictures. Each
//! picture is included twice, for wide and for narrow screens. A page with many pictures, whose
//! files lie beside it, has them compressed: the script unpacks each when it comes near the screen
//! or the browser is idle, and without the script the files are shown.

use super::canvas::escape;
use super::run_pictures::RunPictures;
use super::{NamedPlot, page_style};
use std::fmt::Write as _;

const STYLE: &str = "
:root{color-scheme:light dark}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:24px 20px 80px}
h1{font-size:28px;line-height:1.25;margin:8px 0}
h2{font-size:22px;margin:48px 0 8px;padding-top:16px;border-top:2px solid var(--grid)}
h3{font-size:17px;margin:28px 0 8px}
p{margin:8px 0;max-width:72ch}
.soft{color:var(--soft)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14.5px;margin:8px 0 16px}
th,td{text-align:left;vertical-align:top;padding:6px 10px;border-bottom:1px solid var(--grid)}
th{font-weight:600;border-bottom:2px solid var(--soft);white-space:nowrap;vertical-align:bottom}
th.n{text-align:right;white-space:normal}
td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td.v{white-space:nowrap;font-weight:600}
td small{color:var(--soft);font-size:13px;font-weight:400;display:block}
.agrees,.holds,.passed{color:var(--c2)}.differs,.failed{color:var(--c5)}.explained,.undetermined{color:var(--c4)}.input,.busy,.quantity,.checked,.not-observable{color:var(--soft)}
.strip{display:block;margin:3px 0 0 auto}
figure{margin:20px 0 28px;position:relative}
figure,h2{scroll-margin-top:56px}
figure div>svg{width:100%;height:auto;border:1px solid var(--grid);border-radius:4px;display:block}
figure .narrow{display:none}figure img{width:100%}
figure .cut .fit{visibility:hidden}
nav ol{columns:2;column-gap:32px;padding-left:22px;margin:8px 0;font-size:14.5px}
nav li{break-inside:avoid}
.note{border-left:4px solid var(--soft);padding:2px 14px;margin:14px 0;font-size:14.5px}
.note ul{margin:4px 0;padding-left:20px}
.readout{position:absolute;z-index:2;pointer-events:none;background:var(--paper);color:var(--ink);
border:1px solid var(--soft);border-radius:4px;padding:4px 8px;font-size:13px;line-height:1.35;
white-space:nowrap;max-width:92%;overflow:hidden;font-variant-numeric:tabular-nums}
.readout b{font-weight:600}.readout i{display:inline-block;width:10px;height:10px;margin-right:6px;border-radius:2px}
.cursor{stroke:var(--ink);stroke-opacity:.6;stroke-width:1;pointer-events:none}
.brush{fill:var(--shade);fill-opacity:.18;pointer-events:none}
.zoom{position:sticky;top:0;z-index:3;background:var(--paper);padding:6px 0;border-bottom:1px solid var(--grid);font-size:14px}
.zoom button{font:inherit;margin-left:12px}
.how{color:var(--soft);font-size:14.5px}
@media (max-width:640px){main{padding:12px 12px 48px}h1{font-size:22px;overflow-wrap:anywhere}
h2{font-size:19px}nav ol{columns:1}figure .wide{display:none}figure .narrow{display:block}
p{overflow-wrap:anywhere}.readout{white-space:normal}}
@media print{main{max-width:none;padding:0}.zoom,.readout,.how,.only{display:none!important}
figure{break-inside:avoid}h2,h3{break-after:avoid}figure .wide{display:block}figure .narrow{display:none}
.scroll{overflow:visible}body{font-size:11pt}}
figcaption{color:var(--soft);font-size:14.5px;max-width:80ch}
.only{display:block;margin:12px 0;font-size:14.5px}
body:has(#only:checked) tr.same{display:none}
.again{visibility:hidden}body:has(#only:checked) .again{visibility:visible}
.counts{display:flex;flex-wrap:wrap;gap:10px;padding:0;list-style:none}
.counts li{border:1px solid var(--grid);border-radius:4px;padding:6px 12px}
.counts b{font-size:20px;margin-right:6px}
.finding{border-left:4px solid var(--c4);padding:2px 14px;margin:14px 0}
.finding.differs{border-color:var(--c5);color:var(--ink)}
code{font-size:.92em}
a{color:var(--c0)}
";

const SCRIPT: &str = include_str!("page.js");

/// SHA-256 of the contents of the style and script elements: Content Security Policy Level 3 §2.3.1
/// allows them by their hashes in place of `unsafe-inline`. A test computes them and reports the
/// new ones if the style or the script has changed.
pub(super) const STYLE_HASH: &str = "sha256-4zvYgYM/uCeCSeYv5a0ZW5U2y9B+Uah5To9+sFQeY5M=";
pub(super) const SCRIPT_HASH: &str = "sha256-FfYhS0JMCj3f11fE5ok75eHmhc8r8M1R8GrhgA2JCig=";

/// The content security policy of the page: only its own style and script are allowed. Text from
/// files that the page shows can never run or load anything.
fn policy(with_script: bool, with_files: bool) -> String {
    // Browsers disagree on whether a file is of the same origin as the page beside it.
    let images = if with_files {
        "; img-src 'self' file:"
    } else {
        ""
    };
    let script = if with_script {
        format!("; script-src '{SCRIPT_HASH}'")
    } else {
        String::new()
    };
    format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src '{STYLE_HASH}'{script}{images}; base-uri 'none'; form-action 'none'\">\n"
    )
}

/// A page under construction: text is escaped, structure is added by methods.
#[derive(Debug, Default)]
pub struct Page {
    body: String,
    plots: usize,
    /// Whether pictures are compressed.
    packs: bool,
    /// Ids and titles of pictures and headings, with their depth.
    contents: Vec<(String, String, usize)>,
}

impl Page {
    /// An empty page.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty page whose pictures also lie beside it as NAME.svg.
    pub fn beside_pictures() -> Self {
        Self {
            packs: cfg!(feature = "files"),
            ..Self::default()
        }
    }

    /// `<tag class="class">text</tag>`, with the text escaped.
    pub fn text(&mut self, tag: &str, class: &str, text: &str) {
        let class = if class.is_empty() {
            String::new()
        } else {
            format!(" class=\"{class}\"")
        };
        let _ = writeln!(self.body, "<{tag}{class}>{}</{tag}>", escape(text));
    }

    /// A heading that links can point at.
    pub fn heading(&mut self, id: &str, text: &str) {
        self.contents.push((id.to_owned(), text.to_owned(), 0));
        let _ = writeln!(self.body, "<h2 id=\"{}\">{}</h2>", escape(id), escape(text));
    }

    /// Adds HTML that the caller has escaped.
    pub fn raw(&mut self, html: &str) {
        self.body.push_str(html);
    }

    /// A table with these headings; a column whose heading starts with `#` has numbers. The caller
    /// has escaped the rows, each with a line feed at its end.
    pub fn table(&mut self, headings: &[&str], rows: impl Iterator<Item = String>) {
        self.body
            .push_str("<div class=\"scroll\"><table><thead><tr>");
        for heading in headings {
            let (class, heading) = match heading.strip_prefix('#') {
                Some(heading) => (" class=\"n\"", heading),
                None => ("", *heading),
            };
            let _ = write!(self.body, "<th{class}>{}</th>", escape(heading));
        }
        self.body.push_str("</tr></thead><tbody>\n");
        self.body.extend(rows);
        self.body.push_str("</tbody></table></div>\n");
    }

    /// A picture with its caption.
    pub fn figure(&mut self, named: &NamedPlot) {
        self.plots += 1;
        let title = named.drawing.title().to_owned();
        self.contents.push((named.name.clone(), title, 1));
        let wide = named.drawing.element(&format!("w{}", self.plots));
        let narrow = named.drawing.narrow_element(&format!("n{}", self.plots));
        let (name, caption) = (escape(&named.name), escape(&named.caption));
        if self.packs {
            let title = escape(named.drawing.title());
            let _ = writeln!(
                self.body,
                "<figure id=\"{name}\" data-packed=\"{}\"><div class=\"wide\">{}</div>\
                 <div class=\"narrow\">{}</div><noscript><img src=\"{name}.svg\" alt=\"{title}\">\
                 </noscript><figcaption>{caption}</figcaption></figure>",
                packed(&wide, &narrow),
                place_of(&wide),
                place_of(&narrow),
            );
            return;
        }
        let _ = writeln!(
            self.body,
            "<figure id=\"{name}\"><div class=\"wide\">{wide}</div><div class=\"narrow\">{narrow}</div>\
             <figcaption>{caption}</figcaption></figure>",
        );
    }

    /// What was added so far, as a part of another page.
    pub(super) fn into_body(self) -> String {
        self.body
    }

    /// The whole file.
    pub fn html(&self, title: &str) -> String {
        let body = self.body.replacen(CONTENTS, &self.contents(), 1);
        let body = body.replacen(FILTER, self.filter(), 1);
        let script = if self.plots > 0 {
            format!("<script>\n{SCRIPT}</script>\n")
        } else {
            String::new()
        };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{}\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <title>{}</title>\n<style>{}{STYLE}</style>\n</head>\n<body><main>\n{body}</main>\n\
             {script}</body>\n</html>\n",
            policy(self.plots > 0, self.packs && self.plots > 0),
            escape(title),
            page_style(),
        )
    }

    /// Puts the table of contents here: all headings and pictures of the finished page.
    pub fn table_of_contents(&mut self) {
        self.body.push_str(CONTENTS);
    }

    /// Puts a switch here that hides the rows of the class `same`, if the finished page has any.
    pub fn filter_of_rows(&mut self) {
        self.body.push_str(FILTER);
    }

    fn filter(&self) -> &'static str {
        if self.body.contains("<tr class=\"same\"") {
            "<label class=\"only\"><input type=\"checkbox\" id=\"only\"> only rows that differ</label>\n"
        } else {
            ""
        }
    }

    fn contents(&self) -> String {
        let mut html = String::from("<nav aria-label=\"contents\"><ol>\n");
        let mut open = false;
        for (id, title, depth) in &self.contents {
            let link = format!("<a href=\"#{}\">{}</a>", escape(id), escape(title));
            if *depth == 0 {
                let close = if open { "</li>\n" } else { "" };
                let _ = write!(html, "{close}<li>{link}");
                open = true;
            } else {
                let _ = write!(html, "<br>{link}");
            }
        }
        html.push_str(if open {
            "</li></ol></nav>\n"
        } else {
            "</ol></nav>\n"
        });
        html
    }
}

/// An empty picture of the same size, which keeps the place until the picture is unpacked.
fn place_of(svg: &str) -> String {
    let view = svg.split_once("viewBox=\"");
    let view = view.and_then(|(_, rest)| rest.split('"').next());
    format!("<svg viewBox=\"{}\"></svg>", view.unwrap_or_default())
}

/// Both pictures, with a zero between them, in raw DEFLATE and base64.
#[cfg(feature = "files")]
fn packed(wide: &str, narrow: &str) -> String {
    use base64::Engine as _;
    let texts = [wide.as_bytes(), b"\0", narrow.as_bytes()];
    let octets = crate::trace::deflated(&texts).unwrap_or_default();
    base64::engine::general_purpose::STANDARD.encode(octets)
}

#[cfg(not(feature = "files"))]
fn packed(_: &str, _: &str) -> String {
    String::new()
}

/// Placeholder of the table of contents; no escaped text contains it.
const CONTENTS: &str = "<!--contents-->\n";
/// The same of the switch that hides rows.
const FILTER: &str = "<!--filter-->\n";

/// Instructions for readers; hidden unless the script runs and shows them.
const HOW: &str = "<p class=\"how\" hidden>Point at a picture, or tap on it, to read its values. Drag a \
    mouse across a picture over time to see a part of it in all of them; double-click to go \
    back.</p>\n";

/// The page of a run, as `weir plot` writes it. `head` is a table or text at its top.
pub fn pictures_page(title: &str, head: &str, pictures: &RunPictures) -> String {
    let mut page = Page::new();
    page.text("h1", "", title);
    page.raw(head);
    page.raw(&pictures.head);
    page.table_of_contents();
    page.raw(HOW);
    if !pictures.left_out.is_empty() {
        page.raw("<div class=\"note\">Not drawn here:<ul>\n");
        for item in &pictures.left_out {
            page.text("li", "", item);
        }
        page.raw("</ul></div>\n");
    }
    for (number, section) in pictures.sections.iter().enumerate() {
        page.heading(&format!("section-{}", number + 1), &section.title);
        for figure in &section.figures {
            page.figure(figure);
        }
    }
    page.html(title)
}

/// Escapes text for callers of [`Page::raw`].
pub fn escaped(text: &str) -> String {
    escape(text)
}
