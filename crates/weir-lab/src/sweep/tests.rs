use super::*;
use crate::table::Values;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SCENARIO: &str = r#"
    [run]
    duration = "300ms"
    [[link]]
    name = "bottleneck"
    between = ["server", "client"]
    rate = "5Mbit"
    delay = "5ms"
    queue = { kind = "droptail", limit = 20 }
    loss = { kind = "random", rate = 0.01 }
    [[flow]]
    name = "stream"
    from = "server"
    to = "client"
    transport = { kind = "tcp" }
"#;

fn plan(rest: &str) -> Result<Plan, PlanError> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scenario.toml"), SCENARIO).unwrap();
    let path = folder.path().join("plan.toml");
    fs::write(&path, format!("scenario = \"scenario.toml\"\n{rest}")).unwrap();
    let loaded = Plan::load(&path);
    // The folder's name differs each time.
    let here = folder.path().display().to_string();
    loaded
        .map(|plan| Plan::from_json(&plan.to_json().replace(&here, "folder")).unwrap())
        .map_err(|error| PlanError(error.0.replace(&here, "folder")))
}

const GRID: &str = r#"
    seeds = 3
    [[parameter]]
    path = "flow.*.transport.controller"
    values = ["newreno", "cubic"]
    [[parameter]]
    path = "link.bottleneck.queue"
    values = [{ kind = "droptail", limit = "30kB" }, { kind = "codel" }]
"#;

#[test]
fn a_grid_numbers_its_runs_with_the_seeds_fastest() {
    let plan = plan(GRID).unwrap();
    assert_eq!(
        (plan.runs(), plan.columns()),
        (12, &["controller".to_owned(), "queue".to_owned()][..])
    );
    let labels = |run: u64| {
        let item = plan.item(run).unwrap();
        let words = item.settings.iter().map(|setting| match &setting.label {
            Label::Word(word) => word.clone(),
            Label::Number(number) => number.to_string(),
        });
        (words.collect::<Vec<_>>().join(" "), item.seed)
    };
    let table = [
        (0, "newreno droptail(limit=30kB)", 1),
        (2, "newreno droptail(limit=30kB)", 3),
        (3, "newreno codel", 1),
        (6, "cubic droptail(limit=30kB)", 1),
        (11, "cubic codel", 3),
    ];
    for (run, words, seed) in table {
        assert_eq!(labels(run), (words.to_owned(), Some(seed)), "run {run}");
    }
    assert_eq!(plan.item(12), None);
}

#[test]
fn wrong_plans_say_what_is_wrong() {
    let parameter = |rest: &str| format!("[[parameter]]\npath = \"run.duration\"\n{rest}");
    let table = [
        ("seeds = 0".to_owned(), "no seed"),
        ("seeds = [1, 1]".to_owned(), "twice"),
        ("seeds = -1".to_owned(), "seeds: expected how many"),
        ("seeds = [1, -2]".to_owned(), "seeds: expected how many"),
        ("seedz = 3".to_owned(), "seedz"),
        ("design = \"sobol\"".to_owned(), "points = N"),
        ("design = \"sobol\"\npoints = 100000".to_owned(), "65536"),
        (
            "seeds = 99999999999".to_owned(),
            "99999999999 seeds, expected at most",
        ),
        (
            "seeds = \"7..3\"".to_owned(),
            "seeds = \"7..3\": 3 comes before 7; write A..B",
        ),
        (parameter(""), "no value"),
        (
            [
                parameter("values = [\"1s\"]"),
                parameter("values = [\"2s\"]"),
            ]
            .join("\n"),
            "\"run.duration\" is there twice",
        ),
        (parameter("from = \"1s\""), "both"),
        (parameter("from = \"1s\"\nto = \"5s\""), "needs values"),
        (
            format!(
                "design = \"random\"\npoints = 4\n{}",
                parameter("from = \"1s\"\nto = \"5Mbit\"")
            ),
            "same kind of unit",
        ),
        (
            format!(
                "design = \"random\"\npoints = 4\n{}",
                parameter("from = \"5s\"\nto = \"1s\"")
            ),
            "greater",
        ),
        (
            format!(
                "design = \"random\"\npoints = 4\n{}",
                parameter("from = 0\nto = 9\nscale = \"log\"")
            ),
            "positive",
        ),
    ];
    for (text, words) in table {
        let error = plan(&text).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
        assert!(!error.contains("--"), "no option is meant: {text}: {error}");
    }
}

/// The values of two parameters at each of 16 points.
fn points(design: &str) -> Vec<[f64; 2]> {
    let text = format!(
        "design = \"{design}\"\npoints = 16\n\
         [[parameter]]\npath = \"link.bottleneck.rate\"\nfrom = \"1Mbit\"\nto = \"16Mbit\"\nscale = \"log\"\n\
         [[parameter]]\npath = \"link.bottleneck.delay\"\nfrom = \"0s\"\nto = \"16ms\"\n"
    );
    let plan = plan(&text).unwrap();
    assert_eq!(plan.columns(), ["rate_bps", "delay_s"]);
    let point = |run| {
        let settings = plan.item(run).unwrap().settings;
        let number = |index: usize| match settings[index].label {
            Label::Number(number) => number,
            Label::Word(_) => f64::NAN,
        };
        assert!(plan.scenario(&plan.item(run).unwrap()).is_ok());
        [libm::log2(number(0) / 1e6), number(1) * 1e3]
    };
    (0..plan.runs()).map(point).collect()
}

#[test]
fn designs_fill_the_ranges() {
    for design in ["random", "latin-hypercube", "sobol"] {
        let points = points(design);
        assert_eq!(points.len(), 16);
        for [rate, delay] in &points {
            assert!(
                (0.0..=4.0).contains(rate) && (0.0..=16.0).contains(delay),
                "{design}"
            );
        }
        // Each sixteenth of the range of both parameters has one point; independent random points
        // leave some empty.
        let strata = |parameter: usize, width: f64| {
            let part = |point: &[f64; 2]| (point[parameter] / width) as u64;
            points.iter().map(part).collect::<BTreeSet<_>>().len()
        };
        let filled = [strata(0, 0.25), strata(1, 1.0)];
        assert_eq!(
            filled == [16, 16],
            design != "random",
            "{design}: {filled:?}"
        );
    }
}

fn store(folder: &Path) -> Store {
    Store::open(folder, plan(GRID).unwrap()).unwrap()
}

/// Run, seed and goodput of all flows.
fn rows(folder: &Path) -> Vec<(u64, u64, u64)> {
    let table = read_dataset(folder).unwrap();
    let counts = |name: &str| match table.column(name) {
        Some(Values::U64(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    };
    let (runs, seeds) = (counts("run"), counts("seed"));
    let (kinds, rates) = (
        table.words("kind").unwrap(),
        table.numbers("goodput_bps").unwrap(),
    );
    let flows = (0..table.rows()).filter(|row| &*kinds[*row] == "flow");
    flows
        .map(|row| (runs[row], seeds[row], rates[row].to_bits()))
        .collect()
}

#[test]
fn a_sweep_goes_on_where_it_was_and_has_each_run_once() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [whole, broken] = [folders[0].path(), folders[1].path()];
    let outcome = sweep(&store(whole), &SweepOptions::default()).unwrap();
    assert_eq!(
        (
            outcome.made,
            outcome.done,
            outcome.failed,
            outcome.cancelled
        ),
        (12, 12, 0, false)
    );
    let expected = rows(whole);
    assert_eq!(expected.len(), 12);

    // The state after a killed program: some runs, one of them truncated, and a file with a
    // temporary name.
    let first = store(broken);
    let options = SweepOptions::default();
    for run in [0, 1, 2, 7] {
        let item = first.plan().item(run).unwrap();
        first
            .commit(&run_item(first.plan(), &item, &options).unwrap())
            .unwrap();
    }
    drop(first);
    let journal = broken.join("journal");
    fs::write(journal.join("000000002.json"), "{\"run\":2,").unwrap();
    fs::write(journal.join(".new-x"), "{").unwrap();
    let second = store(broken);
    assert_eq!(second.missing().len(), 9);
    // The program was killed after it had written a block and before it had removed the journal's
    // files.
    let copy = fs::read(journal.join("000000001.json")).unwrap();
    second.flush().unwrap();
    drop(second);
    fs::write(journal.join("000000001.json"), copy).unwrap();
    let third = store(broken);
    assert_eq!(sweep(&third, &options).unwrap().made, 9);
    assert_eq!(rows(broken), expected);
    assert_eq!(fs::read_dir(&journal).unwrap().count(), 0);
    let other = Store::open(broken, plan("seeds = 3").unwrap());
    assert!(matches!(other, Err(StoreError::Busy(_))));
    drop(third);
    let other = Store::open(broken, plan("seeds = 3").unwrap());
    assert!(matches!(other, Err(StoreError::OtherPlan(_))));
}

#[test]
fn a_damaged_plan_or_block_is_an_error_and_never_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    sweep(&store(path), &SweepOptions::default()).unwrap();
    let expected = rows(path);
    let open = || Store::open(path, plan(GRID).unwrap());
    for name in ["plan.json", "runs/block=000000/runs.parquet"] {
        let file = path.join(name);
        let whole = fs::read(&file).unwrap();
        let places = (0..whole.len()).step_by(whole.len() / 40);
        for (place, bit) in places.zip((0..8).cycle()) {
            let mut octets = whole.clone();
            octets[place] ^= 1 << bit;
            fs::write(&file, octets).unwrap();
            let resumed = open().map(|_| ());
            let compared = Dataset::read(path).map(|_| ());
            for result in [resumed, compared] {
                let named =
                    matches!(&result, Err(StoreError::Damaged(path, _)) if path.ends_with(name));
                assert!(named, "{name}, octet {place}, bit {bit}: {result:?}");
            }
        }
        fs::write(&file, whole).unwrap();
        assert!(open().is_ok() && Dataset::read(path).is_ok());
    }
    // The runs of a block that was removed are executed again.
    fs::remove_file(path.join("runs/block=000000/runs.parquet")).unwrap();
    assert_eq!(
        sweep(&open().unwrap(), &SweepOptions::default())
            .unwrap()
            .made,
        12
    );
    assert_eq!(rows(path), expected);
}

#[test]
fn a_program_killed_while_it_replaces_a_block_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let block = path.join("runs/block=000000/runs.parquet");
    let sums = path.join("BLAKE3SUMS");
    let first = store(path);
    let options = SweepOptions::default();
    let make = |run| run_item(first.plan(), &first.plan().item(run).unwrap(), &options).unwrap();
    first.commit(&make(0)).unwrap();
    first.flush().unwrap();
    let content = || {
        (
            fs::read(&block).unwrap(),
            fs::read_to_string(&sums).unwrap(),
        )
    };
    let (old, old_sums) = content();
    first.commit(&make(1)).unwrap();
    first.flush().unwrap();
    let (new, new_sums) = content();
    drop(first);
    let both = format!("{old_sums}{new_sums}");
    // First the checksum of the new block with the old block; then with the new block.
    for (content, done, settled) in [(&old, 1, &old_sums), (&new, 2, &new_sums)] {
        fs::write(&sums, &both).unwrap();
        fs::write(&block, content).unwrap();
        assert_eq!(Dataset::read(path).unwrap().len(), done);
        let again = store(path);
        assert_eq!(again.done().0, done as u64);
        assert_eq!(&fs::read_to_string(&sums).unwrap(), settled);
    }
}

#[test]
fn a_run_that_fails_is_recorded_and_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let text = "seeds = 2\n[[parameter]]\npath = \"link.bottleneck.rate\"\n\
                values = [\"1Mbit\", \"fast\", \"2Mbit\"]\n";
    let store = Store::open(folder.path(), plan(text).unwrap()).unwrap();
    let outcome = sweep(&store, &SweepOptions::default()).unwrap();
    assert_eq!((outcome.done, outcome.failed), (6, 2));
    let table = store.table().unwrap();
    let errors = table
        .words("error")
        .unwrap()
        .iter()
        .filter(|error| error.contains("fast"));
    assert_eq!(errors.count(), 2);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let dataset = |threads| {
        let folder = tempfile::tempdir().unwrap();
        let options = SweepOptions {
            threads: Some(threads),
            ..SweepOptions::default()
        };
        sweep(&store(folder.path()), &options).unwrap();
        fs::read(folder.path().join("runs/block=000000/runs.parquet")).unwrap()
    };
    assert!(dataset(1) == dataset(3));
}

#[test]
fn a_record_is_the_same_after_any_number_of_journeys() {
    let plan = plan(GRID).unwrap();
    let item = plan.item(0).unwrap();
    let record = run_item(&plan, &item, &SweepOptions::default()).unwrap();
    let travelled = |record: &Record| -> Record {
        serde_json::from_str(&serde_json::to_string(record).unwrap()).unwrap()
    };
    assert_eq!(travelled(&travelled(&record)), record);
}

/// The dataset of all runs of a plan; their measures do not affect the pairing.
fn dataset(rest: &str) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), plan(rest).unwrap()).unwrap();
    for run in store.missing() {
        let record = Record {
            run,
            seed: store.plan().item(run).unwrap().seed.unwrap_or(1),
            ..Record::failed(&store.plan().item(run).unwrap(), String::new())
        };
        store.commit(&record).unwrap();
    }
    store.flush().unwrap();
    Dataset::read(folder.path()).unwrap()
}

/// A setting, and for each of its pairs the seed and the runs on both sides.
type Paired = (String, Vec<[u64; 3]>);

fn paired(a: &str, b: &str) -> Result<Vec<Paired>, String> {
    let (a, b) = (dataset(a), dataset(b));
    let groups = pair_datasets(&a, &b).map_err(|error| error.to_string())?;
    let group = |group: SettingPairs| {
        let run = |dataset: &Dataset, run| dataset.record(run).unwrap().run;
        let pairs = group.pairs.iter();
        let pairs = pairs.map(|pair| [pair.seed, run(&a, pair.a), run(&b, pair.b)]);
        (group.setting, pairs.collect())
    };
    Ok(groups.into_iter().map(group).collect())
}

const DELAYS: &str = "[[parameter]]\npath = \"link.bottleneck.delay\"\nvalues = ";

#[test]
fn datasets_are_paired_by_what_varies_and_by_seed() {
    // With another order of values and other seeds, runs have other numbers.
    let a = format!("seeds = 2\n{DELAYS}[\"20ms\", \"5ms\"]");
    let b = format!("seeds = \"2..3\"\n{DELAYS}[\"5ms\", \"20ms\"]");
    let three = format!("seeds = 2\n{DELAYS}[\"5ms\", \"20ms\", \"30ms\"]");
    let both = format!("seeds = [1]\n{DELAYS}[\"5ms\", \"20ms\"]");
    let setting = |words: &str, pairs: &[[u64; 3]]| (words.to_owned(), pairs.to_vec());
    assert_eq!(
        paired(&a, &a).unwrap(),
        [
            setting("delay=20ms", &[[1, 0, 0], [2, 1, 1]]),
            setting("delay=5ms", &[[1, 2, 2], [2, 3, 3]])
        ]
    );
    // If each setting has one pair, all pairs are combined.
    let together = setting("", &[[2, 1, 2], [2, 3, 0]]);
    assert_eq!(paired(&a, &b).unwrap(), [together]);
    // A parameter with one value on each side is not a setting, and neither is an override of all
    // runs.
    let cubic = "[[parameter]]\npath = \"flow.*.transport.controller\"\nvalues = [\"cubic\"]\n";
    let other = cubic.replace("cubic", "newreno");
    assert_eq!(
        paired(&format!("{a}\n{cubic}"), &format!("{a}\n{other}")).unwrap(),
        paired(&a, &a).unwrap()
    );
    assert_eq!(
        paired("seeds = 2", &format!("seeds = 2\n{cubic}")).unwrap(),
        [setting("", &[[1, 0, 0], [2, 1, 1]])]
    );
    // Without common seeds or settings there is one error message.
    let seeds = paired(&both, &b.replace("2..3", "7..9")).unwrap_err();
    assert!(
        seeds.contains("(1 to 1)") && seeds.contains("(7 to 9)"),
        "{seeds}"
    );
    let settings = paired(&a, &three).unwrap_err();
    assert!(
        settings.contains("of 2 settings and B of 3, of which 2"),
        "{settings}"
    );
}

#[test]
fn a_record_has_the_measures_of_its_summary() {
    let second = "[[flow]]\nname = \"web\"\ncount = 3\nfrom = \"server\"\nto = \"client\"\n\
                  transport = { kind = \"quic\" }\n";
    let short = second.replace(
        "count = 3",
        "arrivals = { kind = \"list\", transfers = [[0, 1000]] }",
    );
    for text in [
        SCENARIO.to_owned(),
        format!("{SCENARIO}\n{second}"),
        format!("{SCENARIO}\n{short}"),
    ] {
        let scenario = crate::scenario::parse(&text, "path.toml").unwrap();
        let options = crate::run::RunOptions {
            trace: crate::run::TraceLevel::Summary,
            ..Default::default()
        };
        let summary = crate::run::run(&scenario, &options).unwrap().summary;
        let record = Record::of(0, &summary);
        assert_eq!(record.measures(), crate::comparison::Measures::of(&summary));
        assert_ne!(record.measures(), crate::comparison::Measures::default());
        for name in summary.transfers.keys() {
            let mut rows = record.rows.iter();
            let row = rows.find(|row| row.kind == "transfers" && row.name == *name);
            assert_eq!(row.unwrap().measures["completed"], 1.0);
        }
    }
}
