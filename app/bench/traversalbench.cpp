// SPDX-License-Identifier: Apache-2.0
#include "app/bench/traversalbench.h"

#include "app/common/benchmarkmodels.h"
#include "core/engine/explain/explain.h"
#include "core/lrp/arithmetic/nullarithmetic.h"
#include "core/lrp/traversal/traversal.h"
#include "core/rewrite/rewrite.h"
#include "core/trace/recorder.h"
#include "core/trace/runfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <unistd.h>

namespace retro::app
{

namespace
{

using base::NodeId;
using base::Result;
using lrp::ChildSlot;
using lrp::NodeBehaviour;
using lrp::Role;

constexpr double kPlainGoal = 1e-6;    // seconds per node and edge
constexpr double kRecordedGoal = 3e-6; // likewise, with a recorder

/// A graph without values, and what its nodes can do.
struct ControlCase
{
    lrp::TraversalGraph graph;
    std::vector<NodeBehaviour> behaviour;
    std::size_t edges = 0;
};

/// Residual blocks of five nodes: a view of the trunk, a product with a weight, an activation, a sum with the trunk (a
/// promise, whose search reaches the trunk before its relevance), an activation.
std::shared_ptr<const ControlCase> residualBlocks(std::size_t nodes)
{
    const auto slot = [](std::size_t child) { return ChildSlot{NodeId(child), 0, 0}; };
    lrp::Adjacency adjacency;
    auto made = std::make_shared<ControlCase>();
    const auto add = [&](const std::vector<ChildSlot>& children, const NodeBehaviour& behaviour) {
        adjacency.addNode(children, 1);
        made->behaviour.push_back(behaviour);
        return made->behaviour.size() - 1;
    };
    std::size_t trunk = add({}, {});
    while (made->behaviour.size() + 5 <= nodes) {
        const std::size_t view = add({slot(trunk)}, {Role::PassThrough, false, event::PromiseKind::Operator});
        const std::size_t product = add({slot(view), ChildSlot{}}, {});
        const std::size_t active = add({slot(product)}, {});
        const std::size_t sum = add({slot(trunk), slot(active)}, {Role::Raise, true, event::PromiseKind::Add});
        trunk = add({slot(sum)}, {});
        made->edges += 6;
    }
    made->graph = lrp::TraversalGraph::walk(std::move(adjacency), NodeId(trunk), 0);
    return made;
}

bool traverse(const ControlCase& control, event::Sink& sink)
{
    lrp::NullArithmetic arithmetic(control.graph, control.behaviour);
    lrp::Traversal traversal(control.graph, arithmetic, sink, arithmetic.newHandle());
    while (!traversal.finished()) {
        if (!traversal.step().ok()) {
            return false;
        }
    }
    return traversal.counts().visitsMax <= 3;
}

/// The network as a loaded model, rewritten as loading does.
Result<engine::LoadedModelPointer> loaded(const BenchmarkModel& network)
{
    RETRO_TRY(graph::Graph built, network.make());
    auto model = std::make_shared<engine::LoadedModel>();
    model->name = std::string(network.name);
    rewrite::RewriteOptions options;
    options.keepDigits = false;
    RETRO_TRY(model->rewritten, rewrite::rewrite(std::make_shared<const graph::Graph>(std::move(built)), options));
    return engine::LoadedModelPointer(std::move(model));
}

} // namespace

std::vector<TimedBody> controlBenchmarks()
{
    std::vector<TimedBody> bodies;
    for (const auto& [name, nodes] : {std::pair{"1k", 1'000}, {"10k", 10'000}, {"100k", 100'000}}) {
        const auto control = residualBlocks(static_cast<std::size_t>(nodes));
        const auto size = static_cast<double>(control->behaviour.size() + control->edges);
        bodies.push_back({fmt::format("traversal/control/{}", name),
                          [control] {
                              event::NullSink sink;
                              return traverse(*control, sink);
                          },
                          size * kPlainGoal});
        bodies.push_back({fmt::format("traversal/control/{}_recorded", name),
                          [control] {
                              trace::Recorder recorder;
                              recorder.expect(control->behaviour.size() + control->edges);
                              return traverse(*control, recorder);
                          },
                          size * kRecordedGoal});
    }
    return bodies;
}

Result<std::vector<TimedBody>> recordingBenchmarks()
{
    const std::span<const BenchmarkModel> networks = benchmarkModels();
    const auto network =
        std::ranges::find_if(networks, [](const BenchmarkModel& each) { return each.name == "resnet50"; });
    if (network == networks.end()) {
        return base::Error{base::ErrorCode::Bug, "there is no such network", "resnet50"};
    }
    RETRO_TRY(const engine::LoadedModelPointer model, loaded(*network));
    engine::ExplainRequest request;
    request.inputs = {tensor::Tensor::full(tensor::DType::Float32, network->input, 0.5)};
    request.composite = "epsilon_plus";
    engine::ExplainRequest recorded = request;
    recorded.record = true;
    RETRO_TRY(const engine::ExplainResult result, engine::explain(*model, recorded));
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("retrograde-bench-{}.retro", ::getpid());
    const auto write = [run = result.run, path] {
        const bool isWritten = trace::writeRun(path, *run).ok();
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
        return isWritten;
    };
    return std::vector<TimedBody>{
        {"traversal/resnet50/explain", [model, request] { return engine::explain(*model, request).ok(); }},
        {"traversal/resnet50/recorded", [model, recorded] { return engine::explain(*model, recorded).ok(); }},
        {"traversal/resnet50/write", write}};
}

} // namespace retro::app
