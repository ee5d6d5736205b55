//! Runs a scenario in the simulator and collects its trace and summary.
