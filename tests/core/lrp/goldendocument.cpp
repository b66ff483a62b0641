// SPDX-License-Identifier: Apache-2.0
// golden_traversal_document: every case of the golden files of the traversal by the document, on real tensors in double
// precision. Prints one line per failing case.
#include "tests/core/lrp/eventlog.h"
#include "tests/core/lrp/goldencheck.h"

using namespace retro;
using namespace retro::lrptest;

namespace
{

base::Result<std::string> faultOf(const GoldenCase& golden)
{
    const SpecGraph spec(golden.nodes);
    RETRO_TRY(const TensorCase made, tensorCaseOf(spec, flat(golden.seed)));
    lrp::TraversalOptions options;
    options.followsDocument = true;
    options.checkpoints = checkpointsOf(made, golden.nodes);
    RETRO_TRY(const TensorRun run, runTensors(made, execute::SavePolicy::Autograd, options));
    std::string fault = checkTopo(golden, made);
    fault = fault.empty() ? checkControlFlow(golden, made, run) : fault;
    fault = fault.empty() ? checkRelevance("relevance", golden.relevance, golden.oracle, made, run.relevance) : fault;
    nlohmann::json final = nlohmann::json::object();
    for (const nlohmann::json& id : golden.final) {
        final[id.get<std::string>()] = golden.oracle.at(id.get<std::string>());
    }
    fault = fault.empty() ? checkRelevance("final relevance", final, golden.oracle, made, run.relevance) : fault;
    const bool isWhole = !run.events.empty() && run.events.back().flag == 0; // else things lie where they were
    return fault.empty() && isWhole ? inconsistency(run.events) : fault;
}

} // namespace

int main() { return runGoldenCases("traversal_document", faultOf); }
