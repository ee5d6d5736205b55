//! The commands of tc that make the classes of HTB, after its own: `tc class add … classid 1:10 htb
//! rate 2mbit`, and filters by the DiffServ field, `tc filter add … u32 match ip dsfield 0xb8 0xfc
//! flowid 1:10`. Numbers of classes are hexadecimal, as in tc.

use super::link_units::{put, rate, size, value, whole};
use weir_proto::settings::{Raw, Table, shortened};

/// The command to which the words belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Command {
    #[default]
    Class,
    Filter,
}

/// The classes, with their keys, and the filter that is being read.
#[derive(Default)]
pub(super) struct HtbWords {
    command: Command,
    classes: Vec<Table>,
    dscp: Option<u64>,
}

/// The minor part of a class's number; `None` for the root.
fn minor(word: &str) -> Result<Option<u64>, String> {
    let (_, minor) = word.split_once(':').unwrap_or(("", word));
    if minor.is_empty() || minor.bytes().all(|digit| digit == b'0') {
        return Ok(None);
    }
    let number = u64::from_str_radix(minor, 16).ok();
    let number = number.filter(|number| *number <= 0xffff);
    number.map(Some).ok_or_else(|| {
        let found = shortened(word);
        format!("expected the number of a class, such as 1:10, found \"{found}\"")
    })
}

/// An octet, in hexadecimal with 0x or in decimal.
fn octet(word: &str) -> Result<u8, String> {
    let number = match word.strip_prefix("0x") {
        Some(digits) => u8::from_str_radix(digits, 16),
        None => word.parse(),
    };
    number.map_err(|_| {
        format!(
            "expected an octet, such as 0xb8, found \"{}\"",
            shortened(word)
        )
    })
}

impl HtbWords {
    /// A `class` command begins.
    pub(super) fn begin_class(&mut self) {
        self.command = Command::Class;
        self.classes.push(Table::default());
    }

    /// A `filter` command begins.
    pub(super) fn begin_filter(&mut self) {
        self.command = Command::Filter;
        self.dscp = None;
    }

    /// The number of the default class, as tc writes it.
    pub(super) fn default_class(word: &str) -> Result<Raw, String> {
        Ok(minor(word)?.map_or_else(|| Raw::Text("none".to_owned()), whole))
    }

    /// Reads a word of the command. `next` returns the word after it.
    pub(super) fn read(
        &mut self,
        word: &str,
        next: &mut dyn FnMut(&str, &str) -> Result<String, String>,
    ) -> Result<(), String> {
        match self.command {
            Command::Class => self.read_class(word, next),
            Command::Filter => self.read_filter(word, next),
        }
    }

    fn read_class(
        &mut self,
        word: &str,
        next: &mut dyn FnMut(&str, &str) -> Result<String, String>,
    ) -> Result<(), String> {
        let Some(class) = self.classes.last_mut() else {
            return Ok(());
        };
        let key = match word {
            "htb" => return Ok(()),
            "dev" | "mtu" => return next(word, "a value").map(drop),
            "parent" => {
                if let Some(parent) = minor(&next(word, "a class")?)? {
                    put(class, "parent", whole(parent))?;
                }
                return Ok(());
            }
            "classid" => {
                let number = minor(&next(word, "a class")?)?;
                return put(class, "classid", whole(number.unwrap_or(0)));
            }
            "buffer" | "maxburst" => "burst",
            "cbuffer" | "maxcburst" => "cburst",
            "rate" | "ceil" | "burst" | "cburst" | "prio" | "quantum" | "overhead" | "mpu" => word,
            _ => {
                return Err(format!(
                    "there is no \"{}\" here, expected parent, classid, rate, ceil, burst, cburst, \
                     prio, quantum, overhead or mpu of a class of htb",
                    shortened(word)
                ));
            }
        };
        let text = next(word, "a value")?;
        let raw = match key {
            "rate" | "ceil" => rate(&text)?,
            "burst" | "cburst" => size(&text),
            _ => value(&text),
        };
        put(class, key, raw)
    }

    fn read_filter(
        &mut self,
        word: &str,
        next: &mut dyn FnMut(&str, &str) -> Result<String, String>,
    ) -> Result<(), String> {
        match word {
            "u32" => Ok(()),
            "dev" | "protocol" | "parent" | "prio" | "pref" => next(word, "a value").map(drop),
            "match" => {
                let field = [next(word, "ip")?, next("ip", "dsfield")?];
                let is_known = ["ip", "ip6"].contains(&field[0].as_str())
                    && ["dsfield", "tos", "priority"].contains(&field[1].as_str());
                if !is_known {
                    let found = shortened(&field.join(" "));
                    return Err(format!("expected match ip dsfield, found \"{found}\""));
                }
                let (bits, mask) = (
                    octet(&next("dsfield", "an octet")?)?,
                    octet(&next("dsfield", "a mask")?)?,
                );
                if mask & 0xfc != 0xfc {
                    return Err(format!("expected a mask of 0xfc or 0xff, found {mask:#x}"));
                }
                self.dscp = Some(u64::from(bits >> 2));
                Ok(())
            }
            "flowid" | "classid" => {
                let text = next(word, "a class")?;
                let number = minor(&text)?.unwrap_or(0);
                let dscp = self.dscp.take().ok_or_else(|| {
                    "expected \"match ip dsfield\" before the flowid of a filter".to_owned()
                })?;
                let is_meant = |class: &&mut Table| {
                    let known = class.get("classid").map(|key| &key.value.raw);
                    known == Some(&whole(number))
                };
                let class = self.classes.iter_mut().find(is_meant);
                let class = class.ok_or_else(|| {
                    format!("there is no class {} for a filter", shortened(&text))
                })?;
                put(class, "dscp", whole(dscp))
            }
            _ => Err(format!(
                "there is no \"{}\" here, expected match ip dsfield and flowid of a filter",
                shortened(word)
            )),
        }
    }

    /// Adds the classes to the keys of the queue.
    pub(super) fn complete(self, queue: &mut Table) {
        if !self.classes.is_empty() {
            let classes = self
                .classes
                .into_iter()
                .map(|class| Raw::Table(class).into());
            queue.put("class", Raw::Array(classes.collect()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::link_scenario;
    use weir_net::QueueConfig;
    use weir_net::queue::HtbConfig;
    use weir_proto::packet::Dscp;

    const BASE: &str = "tc qdisc add dev eth0 root handle 1: htb default 20 \
                        tc class add dev eth0 parent 1: classid 1:1 htb rate 6mbit burst 15k \
                        tc class add dev eth0 parent 1:1 classid 1:10 htb rate 1mbit ceil 6mbit \
                        prio 0 quantum 3000 cburst 2k \
                        tc class add dev eth0 parent 1:1 classid 1:20 htb rate 3mbit ceil 6mbit \
                        prio 1 overhead 14 mpu 64";

    fn htb(words: &str) -> HtbConfig {
        let scenario = link_scenario(words, None, 1).unwrap_or_else(|error| panic!("{error}"));
        match &scenario.links[0].forward.queue {
            QueueConfig::Htb(htb) => htb.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn classes_and_filters_are_read_as_tc_reads_them() {
        let filter = "tc filter add dev eth0 protocol ip parent 1:0 prio 1 u32 match ip dsfield \
                      0xb8 0xfc flowid 1:10";
        let htb = htb(&format!("{BASE} {filter} netem delay 5ms"));
        // 20 is hexadecimal.
        assert_eq!((htb.default, htb.classes.len()), (Some(0x20), 3));
        let [root, first, second] = htb.classes.as_slice() else {
            panic!("{htb:?}");
        };
        assert_eq!((root.classid, root.parent, root.burst), (1, None, 15_360));
        assert_eq!((first.classid, first.parent), (0x10, Some(1)));
        assert_eq!((first.rate, first.ceil), (1_000_000, Some(6_000_000)));
        assert_eq!((first.quantum, first.cburst), (Some(3000), 2048));
        assert_eq!(first.dscp, Some(Dscp::new(46)));
        assert_eq!((second.prio, second.overhead, second.mpu), (1, 14, 64));
        assert_eq!(second.dscp, None);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (words, part) in [
            ("tc class add classid 1:10 rate 1mbit speed 4", "\"speed\""),
            ("tc class add classid 1:xyz rate 1mbit", "1:xyz"),
            ("tc class add classid 1:10", "rate"),
            ("tc filter add match ip src 1 flowid 1:10", "dsfield"),
            ("tc filter add match ip tos 0xb8 0xf0 flowid 1:10", "mask"),
            ("tc filter add match ip tos 0xb8 0xfc flowid 1:99", "1:99"),
            ("tc filter add flowid 1:10", "before the flowid"),
            ("tc qdisc add parent 1:10 fq_codel", "one queue"),
        ] {
            let words = format!("{BASE} {words}");
            let error = link_scenario(&words, None, 1)
                .expect_err(&words)
                .to_string();
            assert!(error.contains(part), "{words}: {error}");
        }
        let faulty = "htb default 30 tc class add classid 1:1 htb rate 1mbit";
        let error = link_scenario(faulty, None, 1)
            .expect_err(faulty)
            .to_string();
        assert!(error.contains("default 48"), "{error}");
    }
}
