//! The page as files for any web server: each uncompressed and, for servers that send such files,
//! compressed with gzip. `weir-site.json` lists them, so that a later site replaces an earlier one
//! and nothing else.

use super::page::{Page, contents};
use crate::build;
use crate::exit::Failure;
use crate::files::Files;
use serde_json::{Value, json};
use std::fs;
use std::path::{Component, Path};

/// The list of the site's files.
const LIST: &str = "weir-site.json";

/// Writes the site into a folder, which must be new, empty or an earlier site; returns the number
/// of files.
pub fn write(page: &Page, folder: &Path) -> Result<usize, Failure> {
    let earlier = earlier_files(folder)?;
    let mut names: Vec<String> = Vec::new();
    let mut files = Files::in_folder(folder)?;
    for (path, compressed) in page.files() {
        let whole = contents(compressed)
            .map_err(|error| Failure::Failed(format!("the page is damaged: {path}: {error}")))?;
        files.write(path, &whole)?;
        files.write(format!("{path}.gz"), compressed)?;
        names.extend([path.to_owned(), format!("{path}.gz")]);
    }
    let list = json!({ "weir": build::VERSION, "sources": page.sources(), "files": names });
    files.write(LIST, format!("{list:#}\n").as_bytes())?;
    files.commit()?;
    for old in earlier.iter().filter(|old| !names.contains(old)) {
        // A file that was removed by hand is no error.
        let _ = fs::remove_file(folder.join(old));
    }
    Ok(names.len())
}

/// The files of an earlier site in the folder; an error if it holds anything else.
fn earlier_files(folder: &Path) -> Result<Vec<String>, Failure> {
    let is_free = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !folder.exists(),
    };
    if is_free {
        return Ok(Vec::new());
    }
    let list = fs::read_to_string(folder.join(LIST)).ok();
    let list = list.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let files = list.as_ref().and_then(|list| list["files"].as_array());
    let Some(files) = files else {
        let shown = folder.display();
        return Err(Failure::Usage(format!(
            "\"{shown}\" is not empty and no earlier site ({LIST}), expected a new folder"
        )));
    };
    let is_below = |name: &&str| {
        let mut parts = Path::new(name).components();
        parts.all(|part| matches!(part, Component::Normal(_)))
    };
    let names = files.iter().filter_map(Value::as_str).filter(is_below);
    Ok(names.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_replaces_an_earlier_one_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let page = Page::embedded();
        let site = place.path().join("site");
        let count = write(&page, &site).unwrap();
        assert_eq!(count, 2 * page.files().count());
        let index = fs::read(site.join("index.html")).unwrap();
        let compressed = fs::read(site.join("index.html.gz")).unwrap();
        assert_eq!(contents(&compressed).unwrap(), index);

        // A file that the new site does not have goes, one that no site had stays.
        fs::write(site.join("old.js"), "").unwrap();
        fs::write(site.join("CNAME"), "weir.example").unwrap();
        fs::write(place.path().join("precious"), "").unwrap();
        let list = json!({ "files": ["index.html", "old.js", "../precious"] });
        fs::write(site.join(LIST), list.to_string()).unwrap();
        write(&page, &site).unwrap();
        assert!(!site.join("old.js").exists());
        assert!(site.join("CNAME").exists() && place.path().join("precious").exists());

        let other = place.path().join("other");
        fs::create_dir(&other).unwrap();
        assert!(write(&page, &other).is_ok());
        let refused = write(&page, place.path()).unwrap_err().message();
        assert!(refused.contains("not empty"), "{refused}");
        assert!(!place.path().join("index.html").exists());
    }
}
