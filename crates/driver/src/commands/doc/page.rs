//! Page template of the documentation: what every page is made with, its frame, its style, and READMEs as HTML.

use headrace_bench::report::escape;
use headrace_library::catalog::Library;
use headrace_library::manifest::Manifest;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5c6b7d; --line: #d9e0e8; --paper: #fff; --code: #f3f6fa; --link: #2660a4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf3; --soft: #9aa9ba; --line: #334150; --paper: #12181f; --code: #1b242e; --link: #7fb4ef; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem; margin: 2rem auto; padding: 0 1.2rem; }
a { color: var(--link); } h1 { margin-bottom: 0; } h2 { margin-top: 2.2rem; } h3 { margin-top: 1.6rem; } .soft { color: var(--soft); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; } th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; font-size: .9rem; } td.n, th.n { text-align: right; white-space: nowrap; } p, li, h1, h2, h3 { overflow-wrap: anywhere; } code, pre { background: var(--code); border-radius: .25rem; } code { padding: .05rem .3rem; } td code { white-space: nowrap; } pre { padding: .7rem 1rem; overflow-x: auto; }
figure { margin: 1rem 0; overflow-x: auto; } figure svg { height: auto; } .warning { border-left: 4px solid #c77700; padding-left: .8rem; }
input { font: inherit; color: inherit; background: var(--code); border: 1px solid var(--line); border-radius: .3rem; padding: .35rem .6rem; width: min(26rem, 100%); box-sizing: border-box; }
";

/// What every table begins with: one that is too wide scrolls in its own box.
pub(super) const TABLE: &str = "<div class=\"scroll\"><table>";

/// What every table ends with.
pub(super) const TABLE_END: &str = "</table></div>\n";

/// A text in HTML.
pub(super) fn text(text: &str) -> String {
    escape(text)
}

/// The page of a manifest.
pub(super) fn file_name(manifest: &Manifest) -> String {
    format!("{}.html", manifest.folder.replace('/', "-"))
}

/// A whole page.
pub(super) fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}</title><style>{STYLE}</style></head><body>\n{body}</body></html>\n",
        escape(title)
    )
}

/// A README as part of a page: its own title is left out, its headings go below those of the page, and links to other
/// folders lead to their pages.
pub(super) fn markdown(readme: &str, library: &Library) -> String {
    let mut in_title = false;
    let events = Parser::new_ext(readme, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }) => {
            in_title = true;
            None
        }
        Event::End(TagEnd::Heading(HeadingLevel::H1)) => {
            in_title = false;
            None
        }
        _ if in_title => None,
        Event::Start(Tag::Heading { level, id, classes, attrs }) => {
            Some(Event::Start(Tag::Heading { level: below(level), id, classes, attrs }))
        }
        Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(below(level)))),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Some(Event::Start(Tag::Link { link_type, dest_url: page_of(&dest_url, library), title, id }))
        }
        // What a README says in HTML is shown as it is written.
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        event => Some(event),
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    // What the README says is escaped by now, so that these are its tables.
    out.replace("<table>", TABLE).replace("</table>\n", TABLE_END)
}

/// A sentence with code and emphasis, as part of a paragraph.
pub(super) fn sentence(text: &str) -> String {
    let events = Parser::new(text)
        .filter(|event| !matches!(event, Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph)));
    let mut out = String::new();
    html::push_html(
        &mut out,
        events.map(|event| match event {
            Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
            event => event,
        }),
    );
    out
}

fn below(level: HeadingLevel) -> HeadingLevel {
    HeadingLevel::try_from(level as usize + 1).unwrap_or(HeadingLevel::H6)
}

/// Where a link of a README leads: to the page of the folder that it ends in, if that is one of the library's.
fn page_of<'t>(link: &CowStr<'t>, library: &Library) -> CowStr<'t> {
    let folder = link.trim_start_matches("../").trim_end_matches("README.md").trim_end_matches('/');
    let ends = |manifest: &&Manifest| manifest.folder == folder || manifest.folder.ends_with(&format!("/{folder}"));
    match library.manifests().iter().find(ends).filter(|_| !folder.is_empty()) {
        Some(manifest) => CowStr::from(file_name(manifest)),
        None => link.clone(),
    }
}
