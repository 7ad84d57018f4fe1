// SPDX-License-Identifier: MIT OR Apache-2.0

//! The built-in tools as they ship.

use std::sync::Arc;
use std::time::Duration;

use hal::{Lane, sim};
use tools::notify::{Outbox, Post, PostError, Reply, send_notification};
use tools::warehouse::{WarehouseConfig, read_warehouse_sensors};
use tools::{BoxFuture, ToolSet, end};

struct NoOutbox;

impl Outbox for NoOutbox {
    fn post(&self, _: Post) -> BoxFuture<'static, Result<Reply, PostError>> {
        Box::pin(async { Err(PostError::NotSent("nothing is sent here".to_owned())) })
    }
}

#[test]
fn what_ships_is_declared_without_a_doubt() {
    let (board, _) = sim::warehouse(&Lane::inline("sim"));
    let tools = ToolSet::builder()
        .hal(board.sensors.unwrap())
        .tool(read_warehouse_sensors(WarehouseConfig::default()))
        .tool(send_notification(Arc::new(NoOutbox), Duration::from_secs(10)))
        .tool(end::end_session())
        .build()
        .unwrap();
    assert_eq!(tools.warnings(), []);
}
