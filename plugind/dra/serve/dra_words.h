#pragma once
// The words of each version of the kubelet's DRA API, under the same names.

#include "proto/dra_v1.grpc.pb.h"
#include "proto/dra_v1beta1.grpc.pb.h"

namespace vfiogate {

struct DraWordsV1 {
  using Plugin = k8s::io::kubelet::pkg::apis::dra::v1::DRAPlugin;
  using Prepare = k8s::io::kubelet::pkg::apis::dra::v1::NodePrepareResourcesRequest;
  using Prepared = k8s::io::kubelet::pkg::apis::dra::v1::NodePrepareResourcesResponse;
  using Unprepare = k8s::io::kubelet::pkg::apis::dra::v1::NodeUnprepareResourcesRequest;
  using Unprepared = k8s::io::kubelet::pkg::apis::dra::v1::NodeUnprepareResourcesResponse;
};

struct DraWordsV1beta1 {
  using Plugin = k8s::io::kubelet::pkg::apis::dra::v1beta1::DRAPlugin;
  using Prepare = k8s::io::kubelet::pkg::apis::dra::v1beta1::NodePrepareResourcesRequest;
  using Prepared = k8s::io::kubelet::pkg::apis::dra::v1beta1::NodePrepareResourcesResponse;
  using Unprepare = k8s::io::kubelet::pkg::apis::dra::v1beta1::NodeUnprepareResourcesRequest;
  using Unprepared = k8s::io::kubelet::pkg::apis::dra::v1beta1::NodeUnprepareResourcesResponse;
};

}  // namespace vfiogate
