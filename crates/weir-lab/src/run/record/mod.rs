//! Records of a run in progress: its tables, thinned once they are long, and the statistics of its
//! flows. [`measured`] does the same for flows on a real path.

pub(super) mod bound_times;
pub(super) mod connection_records;
pub(crate) mod delivery_rate;
pub(super) mod flow_tables;
pub(super) mod intervals;
mod link_record;
pub(super) mod measured;
mod packet_sampling;
mod packet_stages;
pub(super) mod recorder;
mod row_limit;
