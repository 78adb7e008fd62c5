//! DescribeCluster.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::{DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse};

use super::{Begun, Ctx, authorized, reply};

/// The endpoint type that stands for brokers; controllers answer on their own listener.
const BROKERS: i8 = 1;

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: DescribeClusterRequest = ctx.decode(body)?;
    let asked = if ctx.version() >= 1 { request.endpoint_type } else { BROKERS };
    let mut response = DescribeClusterResponse {
        endpoint_type: asked,
        cluster_id: ctx.image.cluster_id.to_string(),
        controller_id: -1,
        cluster_authorized_operations: authorized::if_asked(
            request.include_cluster_authorized_operations,
            authorized::CLUSTER,
        ),
        ..Default::default()
    };
    if asked == BROKERS {
        response.controller_id = ctx.controller_for_clients();
        response.brokers = brokers(ctx, request.include_fenced_brokers);
    } else {
        let known = asked == 2;
        let code = if known {
            ErrorCode::MismatchedEndpointType
        } else {
            ErrorCode::UnsupportedEndpointType
        };
        response.error_code = code.code();
        response.error_message = Some(format!("endpoint type {asked} is not served by a broker"));
    }
    Ok(reply::at_once(ctx, &response))
}

fn brokers(ctx: &Ctx<'_>, fenced_too: bool) -> Vec<DescribeClusterBroker> {
    let shown = ctx.image.brokers.values().filter(|broker| fenced_too || !broker.fenced);
    let described = shown.filter_map(|broker| {
        let (host, port) = ctx.address_of(broker)?;
        Some(DescribeClusterBroker {
            broker_id: broker.id.0,
            host,
            port: port.into(),
            rack: broker.rack.clone(),
            is_fenced: broker.fenced,
        })
    });
    described.collect()
}
