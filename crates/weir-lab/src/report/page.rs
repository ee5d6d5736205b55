//! One HTML file that contains its styles, tables and plots.

use super::canvas::escape;
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
th{font-weight:600;border-bottom:2px solid var(--soft);white-space:nowrap}
th.n{text-align:right}
td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td.v{white-space:nowrap;font-weight:600}
td small{color:var(--soft);font-size:13px;font-weight:400;display:block}
.agrees,.holds{color:var(--c2)}.differs{color:var(--c5)}.explained{color:var(--c4)}.input,.busy,.quantity,.checked{color:var(--soft)}
.strip{display:block;margin:3px 0 0 auto}
figure{margin:20px 0 28px}
figure svg{width:100%;height:auto;border:1px solid var(--grid);border-radius:4px}
figcaption{color:var(--soft);font-size:14.5px;max-width:80ch}
.counts{display:flex;flex-wrap:wrap;gap:10px;padding:0;list-style:none}
.counts li{border:1px solid var(--grid);border-radius:4px;padding:6px 12px}
.counts b{font-size:20px;margin-right:6px}
.finding{border-left:4px solid var(--c4);padding:2px 14px;margin:14px 0}
.finding.differs{border-color:var(--c5);color:var(--ink)}
code{font-size:.92em}
a{color:var(--c0)}
";

/// A page under construction: text is escaped, structure is added by methods.
#[derive(Debug, Default)]
pub struct Page {
    body: String,
    plots: usize,
}

impl Page {
    /// An empty page.
    pub fn new() -> Self {
        Self::default()
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
        let _ = writeln!(self.body, "<h2 id=\"{}\">{}</h2>", escape(id), escape(text));
    }

    /// HTML that the caller has escaped.
    pub fn raw(&mut self, html: &str) {
        self.body.push_str(html);
    }

    /// A plot with its caption.
    pub fn figure(&mut self, named: &NamedPlot) {
        self.plots += 1;
        let element = named.plot.element(&format!("clip{}", self.plots));
        let _ = writeln!(
            self.body,
            "<figure id=\"{}\">{element}<figcaption>{}</figcaption></figure>",
            escape(&named.name),
            escape(&named.caption)
        );
    }

    /// The whole file.
    pub fn html(&self, title: &str) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <title>{}</title>\n<style>{}{STYLE}</style>\n</head>\n<body><main>\n{}</main></body>\n\
             </html>\n",
            escape(title),
            page_style(),
            self.body
        )
    }
}

/// A page of plots alone, as `weir plot` writes it.
pub fn plots_page(title: &str, plots: &[NamedPlot]) -> String {
    let mut page = Page::new();
    page.text("h1", "", title);
    for plot in plots {
        page.figure(plot);
    }
    page.html(title)
}

/// Escapes text for callers of [`Page::raw`].
pub fn escaped(text: &str) -> String {
    escape(text)
}
