//! The tests of the command: one binary, because each binary is linked separately.

mod bloat;
mod bounds;
mod captures;
mod cli;
mod common;
mod compare_sweeps;
mod damage;
mod evaluate;
mod explain;
mod fit;
mod iperf_words;
mod limits;
mod live;
mod live_bounds;
mod new;
mod paths;
mod peers;
mod quic_flood;
mod quinn;
mod readme;
mod rules;
mod schemas;
mod signals;
mod testbed;
mod wire;
mod words;
