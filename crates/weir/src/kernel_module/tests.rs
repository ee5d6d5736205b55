use super::compile::FILES;
use super::process::{Answer, Event};
use super::{KernelModules, KernelTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use tempfile::TempDir;
use weir_proto::cc::window::{BoxedController, WindowConfig, named};
use weir_proto::cc::{
    Acked, CongestionEvent, ConnectionEvent, EndAcks, RateSample, RetransmissionTimeout, Sent,
};
use weir_proto::time::{Duration, Instant};

const MSS: u64 = 1000;

/// A tree of Linux as far as modules need it, with a module of this name.
fn tree_with(name: &str, largest: &str) -> (TempDir, PathBuf) {
    let tree = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    write("Makefile", "VERSION = 6\nPATCHLEVEL = 12\n");
    write("lib/win_minmax.c", "#include <linux/win_minmax.h>\n");
    write("net/ipv4/tcp_cong.c", include_str!("tests/tcp_cong.c"));
    let text = include_str!("tests/tcp_test.c");
    let text = text.replace("NAME", name).replace("LARGEST", largest);
    let module = write(&format!("net/ipv4/tcp_{name}.c"), &text);
    (tree, module)
}

fn modules(tree: Option<&Path>) -> KernelModules {
    let kernel_tree = tree.map(Path::to_owned);
    KernelModules::new(&KernelTree { kernel_tree })
}

/// A controller of the module, with a first window of ten packets.
fn controller(modules: &mut KernelModules, module: &Path) -> BoxedController {
    let candidate = modules.candidate(&format!("kernel:{}", module.display()));
    let candidate = candidate.unwrap_or_else(|error| panic!("{}", error.message()));
    let name = candidate.strip_prefix("tcp:").unwrap();
    let config = WindowConfig {
        max_datagram_size: MSS,
        ..WindowConfig::default()
    };
    named(name, &config).unwrap()
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn send(controller: &mut BoxedController, millis: u64) {
    controller.on_sent(&Sent {
        now: at(millis),
        bytes: MSS,
        bytes_in_flight: MSS,
        ..Sent::default()
    });
}

/// Acknowledges the packets from the total before to `total`, sent at `sent`.
fn acknowledge(controller: &mut BoxedController, (sent, now): (u64, u64), total: u64) {
    controller.on_ack(&Acked {
        now: at(now),
        sent_at: at(sent),
        ..Acked::default()
    });
    controller.on_end_acks(&EndAcks {
        now: at(now),
        newest_sent_at: at(sent),
        rate: RateSample {
            total_delivered: total * MSS,
            ..RateSample::default()
        },
        ..EndAcks::default()
    });
}

fn loss(sent: u64, now: u64) -> CongestionEvent {
    CongestionEvent {
        now: at(now),
        sent_at: at(sent),
        ..CongestionEvent::default()
    }
}

#[test]
fn the_window_follows_the_answers_and_a_copy_goes_its_own_way() {
    let (_tree, module) = tree_with("follows", "1000");
    let mut modules = modules(None);
    // Another connection of the process is none of theirs.
    let mut other = controller(&mut modules, &module);
    send(&mut other, 0);
    let mut first = controller(&mut modules, &module);
    let packets = |controller: &BoxedController| controller.window() / MSS;
    assert_eq!(packets(&first), 10);
    send(&mut first, 0);
    acknowledge(&mut first, (0, 10), 6);
    assert_eq!((packets(&first), first.report().state), (16, "slow_start"));
    let mut copy = first.clone_box();
    assert!(first.on_congestion_event(&loss(5, 20)));
    assert_eq!((packets(&first), packets(&copy)), (8, 16));
    assert_eq!(first.report().ssthresh, Some(8 * MSS));
    assert_eq!(first.report().state, "recovery");
    acknowledge(&mut copy, (0, 20), 10);
    assert_eq!((packets(&first), packets(&copy)), (8, 20));
    // Another loss of the same flight is part of it, and the window stays while it lasts.
    assert!(!first.on_congestion_event(&loss(6, 21)));
    acknowledge(&mut first, (6, 22), 8);
    assert_eq!(packets(&first), 8);
    // Eight packets sent later end it and are a packet more in congestion avoidance.
    acknowledge(&mut first, (21, 31), 16);
    let state = first.report().state;
    assert_eq!((packets(&first), state), (9, "congestion_avoidance"));
    assert!(first.on_congestion_event(&loss(32, 40)));
    assert_eq!(packets(&first), 4);
    assert!(first.on_spurious_congestion_event(at(41)));
    assert_eq!(packets(&first), 9);
    let (now, sent_at) = (at(50), at(42));
    first.on_retransmission_timeout(&RetransmissionTimeout {
        now,
        sent_at,
        ..RetransmissionTimeout::default()
    });
    assert_eq!((first.window(), copy.window()), (MSS, 20 * MSS));
    drop(first);
    acknowledge(&mut copy, (11, 21), 11);
    assert_eq!(packets(&copy), 21);
    copy.on_connection_event(ConnectionEvent::IdleRestart);
    assert_eq!(packets(&copy), 10);
    let mut lost = controller(&mut modules, &module);
    lost.on_connection_event(ConnectionEvent::HandshakeLoss);
    send(&mut lost, 0);
    assert_eq!(packets(&lost), 1);
    assert_eq!(packets(&other), 10);
    assert!(modules.check().is_ok());
}

#[test]
fn more_connections_than_a_process_has_are_an_error() {
    let (_tree, module) = tree_with("many", "1000");
    let mut modules = modules(None);
    let mut made = Vec::new();
    let processes = std::thread::available_parallelism().unwrap().get();
    for number in 0..=1024 * processes {
        assert!(modules.check().is_ok(), "{number}");
        let mut next = controller(&mut modules, &module);
        send(&mut next, 0);
        made.push(next);
    }
    let fault = modules.check().expect_err("one too many").message();
    assert!(fault.contains("1024 connections"), "{fault}");
}

#[test]
fn a_place_is_free_again_after_its_controller() {
    let (_tree, module) = tree_with("free", "1000");
    let mut modules = modules(None);
    for _ in 0..2000 {
        send(&mut controller(&mut modules, &module), 0);
    }
    assert!(modules.check().is_ok());
}

#[test]
fn a_process_that_dies_is_an_error_and_the_last_window_stays() {
    let (_tree, module) = tree_with("dies", "16");
    let mut modules = modules(None);
    let mut dying = controller(&mut modules, &module);
    send(&mut dying, 0);
    acknowledge(&mut dying, (0, 10), 5);
    assert!(modules.check().is_ok());
    acknowledge(&mut dying, (1, 11), 6);
    assert_eq!(dying.window(), 15 * MSS);
    assert!(modules.cancel().load(Ordering::Relaxed));
    let fault = modules.check().expect_err("it has died").message();
    assert!(
        fault.starts_with("kernel-dies: its process has ended (signal: "),
        "{fault}"
    );
    let copy = dying.clone_box();
    dying.on_retransmission_timeout(&RetransmissionTimeout::default());
    assert_eq!((dying.window(), copy.window()), (15 * MSS, 15 * MSS));
    let mut next = controller(&mut modules, &module);
    send(&mut next, 0);
    assert_eq!(next.window(), 10 * MSS);
}

#[test]
fn what_is_no_module_is_an_error() {
    let (tree, module) = tree_with("wrong", "1000");
    let message = |path: &Path, tree: Option<&Path>| {
        let outcome = modules(tree).candidate(&format!("kernel:{}", path.display()));
        outcome.expect_err("it is no module").message()
    };
    let missing = message(&tree.path().join("tcp_no.c"), None);
    assert!(missing.contains("tcp_no.c: "), "{missing}");
    let outside = tempfile::tempdir().unwrap();
    let alone = outside.path().join("tcp_alone.c");
    fs::copy(&module, &alone).unwrap();
    assert!(message(&alone, None).contains("--kernel-tree"));
    assert!(message(&alone, Some(outside.path())).contains("tcp_cong.c"));
    // The module's own name, not the file's, is what it registers under.
    let named = modules(Some(tree.path())).candidate(&format!("kernel:{}", alone.display()));
    assert_eq!(named.ok().as_deref(), Some("tcp:kernel-wrong"));
    fs::write(&alone, "int a = b;\n.name = \"alone\"\n").unwrap();
    let broken = message(&alone, Some(tree.path()));
    assert!(
        broken.contains("does not compile") && broken.contains("tcp_alone.c:1:"),
        "{broken}"
    );
    fs::write(&alone, "int a;\n").unwrap();
    assert!(message(&alone, Some(tree.path())).contains(".name"));
    let silent = message(Path::new("/bin/true"), None);
    assert!(silent.contains("its process"), "{silent}");
}

#[test]
fn two_files_of_one_name_have_two_names_and_other_texts_stay() {
    let ((_one, first), (_other, second)) = (tree_with("twice", "9"), tree_with("twice", "9"));
    let mut modules = modules(None);
    let list = format!("kernel:{},ecn=true,cubic,kernel:{0}", first.display());
    let names = modules.candidates(&[list, format!("kernel:{}", second.display())]);
    let expected = [
        "tcp:kernel-twice,ecn=true",
        "cubic",
        "tcp:kernel-twice",
        "tcp:kernel-twice-2",
    ];
    assert_eq!(names.ok(), Some(expected.map(str::to_owned).to_vec()));
}

/// The names between the brackets of `X(name)` in a macro of event.h.
fn names_in<'a>(header: &'a str, list: &str) -> Vec<&'a str> {
    let (_, body) = header
        .split_once(&format!("#define {list}(X) \\\n"))
        .unwrap();
    let body = body.split("\n\n").next().unwrap();
    let words = body.split("X(").skip(1);
    words.map(|word| word.split(')').next().unwrap()).collect()
}

#[test]
fn the_protocol_is_that_of_the_header_and_every_file_is_contained() {
    let (_, header) = FILES
        .iter()
        .find(|(path, _)| *path == "stack/event.h")
        .unwrap();
    assert_eq!(names_in(header, "SHIM_FIELDS"), Event::FIELDS);
    assert_eq!(names_in(header, "SHIM_ANSWERS"), Answer::FIELDS);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel-modules");
    let mut folders = vec![root.join("include")];
    let mut found =
        BTreeSet::from(["driver.c", "event.h", "stack.c"].map(|name| format!("stack/{name}")));
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let path = path.strip_prefix(&root).unwrap();
                found.insert(path.to_str().unwrap().to_owned());
            }
        }
    }
    let contained = FILES.iter().map(|(path, _)| (*path).to_owned());
    assert_eq!(contained.collect::<BTreeSet<_>>(), found);
}
