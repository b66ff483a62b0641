// SPDX-License-Identifier: Apache-2.0
// Opens every model of Debian's libonnx-testdata, supported or not, as `retrograde-cli info` does, writes and reads it
// again, and explains the last element of its first output with every engine: nothing may crash, hang or take the
// machine's memory, and where a pass is possible, promise traversal, policy all and oracle agree bit for bit. Skipped
// with status 77 where the package is not installed. One data set per model; models and data are small, and the whole
// takes well under a minute on one core, so nothing is left out.
#include "core/engine/explain/explain.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/model/symbolicshapes.h"
#include "core/formats/graphjson.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/registry.h"
#include "tests/conformance/isolation.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <sys/resource.h>

using namespace retro;
using namespace retro::conformance;

namespace fs = std::filesystem;

using base::Error;
using base::ErrorCode;
using base::Result;
using tensor::Tensor;

namespace
{

constexpr const char* kDebianFolder = "/usr/share/libonnx-testdata/data";
constexpr int kSkipped = 77;
/// Most memory that the process may ever have held, in KiB; a sanitizer's included.
constexpr long kMostMemory = 4L << 20;
/// Models of the package of which a pass exists; fewer mean that something is refused that was not.
constexpr int kLeastExplained = 500;

Error wrong(std::string message) { return {ErrorCode::Bug, std::move(message), {}}; }

/// What `info` shows. None of it may fail, but shapes that do not follow are told.
Result<void> inspect(const engine::LoadedModel& model)
{
    const auto unsupported = ops::unsupported(*model.graph());
    const auto shapes = engine::inferSymbolicShapes(model.graph());
    if (!shapes.ok() && shapes.error().code == ErrorCode::Bug) {
        return shapes.error();
    }
    if (shapes.ok() && !unsupported.empty()) {
        return wrong("shapes follow through an operator that is not implemented");
    }
    return {};
}

/// Graph JSON and ONNX written from a model are the same graph when they are read again.
Result<void> roundTrip(const graph::Graph& graph)
{
    const auto hash = graph::structuralHash(graph);
    const auto json = formats::parseGraphJson(formats::toGraphJson(graph), "graph JSON");
    if (!json.ok()) {
        return wrong("graph JSON is not read again: " + json.error().text());
    }
    if (graph::structuralHash(**json) != hash) {
        return wrong("graph JSON gives another graph");
    }
    const auto bytes = formats::toOnnx(graph);
    if (!bytes.ok()) {
        return wrong("ONNX is not written: " + bytes.error().text());
    }
    const auto onnx = formats::parseOnnx(*bytes, "written.onnx");
    if (!onnx.ok()) {
        return wrong("ONNX is not read again: " + onnx.error().text());
    }
    return graph::structuralHash(**onnx) == hash ? Result<void>() : wrong("ONNX gives another graph");
}

/// The last element of the first output: padding, borders and the ends of loops are there.
Result<engine::TargetRequest> lastElement(const engine::ForwardOutputs& outputs)
{
    engine::TargetRequest target;
    target.kind = engine::TargetRequest::Kind::Value;
    target.value = outputs.names[0];
    for (const std::int64_t extent : outputs.outputs[0].shape()) {
        target.index.push_back(extent - 1);
    }
    return outputs.outputs[0].size() > 0 ? Result(std::move(target))
                                         : Result<engine::TargetRequest>(base::inputError("the output is empty"));
}

Result<void> checkSame(const engine::ExplainResult& a, const engine::ExplainResult& b, const char* engine)
{
    for (std::size_t i = 0; i < a.relevance.size(); ++i) {
        if (!a.relevance[i].bitEqual(b.relevance[i])) {
            return wrong(
                fmt::format("{} gives other relevance to '{}'", engine, a.model->graph().value(base::ValueId(i)).name));
        }
    }
    return {};
}

Result<void> compareEngines(const engine::LoadedModel& model, engine::ExplainRequest request)
{
    request.engine = engine::EngineKind::Oracle;
    RETRO_TRY(const engine::ExplainResult oracle, engine::explain(model, request));
    request.engine = engine::EngineKind::Promise;
    for (const auto& [save, name] : {std::pair{execute::SavePolicy::Autograd, "the promise traversal"},
                                     std::pair{execute::SavePolicy::All, "policy all"}}) {
        request.save = save;
        const auto other = engine::explain(model, request);
        if (!other.ok()) {
            return wrong(fmt::format("the oracle ran, {} did not: {}", name, other.error().text()));
        }
        RETRO_CHECK(checkSame(oracle, *other, name));
    }
    return {};
}

Result<void> checkMemory()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss <= kMostMemory ? Result<void>()
                                          : wrong(fmt::format("the process took {} MiB", usage.ru_maxrss >> 10U));
}

Result<void> sweep(const Case& one)
{
    RETRO_TRY(const engine::LoadedModelPointer model, engine::loadModel(one.model));
    RETRO_CHECK(inspect(*model));
    RETRO_CHECK(roundTrip(*model->rewritten.before));
    engine::ExplainRequest request;
    request.goesOnWhenNotFinite = true; // what is no number is the same in every engine, too
    RETRO_TRY(request.inputs, inputsOf(one, *model->graph()));
    RETRO_TRY(const engine::ForwardOutputs outputs, engine::runForward(*model, request.inputs, request.precision));
    RETRO_TRY(request.target, lastElement(outputs));
    RETRO_CHECK(compareEngines(*model, request));
    return checkMemory();
}

/// One case per model: that with its first data set, or none.
std::vector<Case> allModels()
{
    std::map<fs::path, Case> models;
    for (const auto& entry : fs::recursive_directory_iterator(kDebianFolder)) {
        if (entry.path().extension() == ".onnx") {
            const std::string name = fs::relative(entry.path(), kDebianFolder).generic_string();
            models.emplace(entry.path(), Case{name, entry.path(), entry.path().parent_path() / "test_data_set_0"});
        }
    }
    std::vector<Case> cases;
    for (auto& [path, one] : models) {
        cases.push_back(std::move(one));
    }
    return cases;
}

} // namespace

int main(int argc, char** argv)
{
    if (!fs::exists(kDebianFolder)) {
        fmt::print("SKIPPED: the models are not here; install the Debian package libonnx-testdata\n");
        return kSkipped;
    }
    const bool isVerbose = argc > 1 && std::string_view(argv[1]) == "--verbose";
    int explained = 0;
    int refused = 0;
    int failed = 0;
    runIsolated(allModels(), sweep, [&](const Case& one, const Ending& ending) {
        const bool isGood = ending.outcome == Outcome::Passed || ending.outcome == Outcome::Refused;
        ++(isGood ? (ending.outcome == Outcome::Passed ? explained : refused) : failed);
        if (!isGood || isVerbose) {
            fmt::print("{:<8} {}: {}\n", isGood ? "ok" : "FAIL", one.name, ending.message);
            std::fflush(stdout);
        }
    });
    fmt::print("explained {}, refused {}, failed {}\n", explained, refused, failed);
    return failed == 0 && explained >= kLeastExplained ? 0 : 1;
}
