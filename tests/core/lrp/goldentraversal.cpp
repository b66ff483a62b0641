// SPDX-License-Identifier: Apache-2.0
// golden_traversal: every case of the golden traversal files, on real tensors in double precision. Prints one line per
// failing case.
#include "tests/core/lrp/goldencheck.h"

using namespace retro;
using namespace retro::lrptest;

namespace
{

base::Result<std::string> faultOf(const GoldenCase& golden)
{
    const SpecGraph spec(golden.nodes);
    RETRO_TRY(const TensorCase made, tensorCaseOf(spec, flat(golden.seed)));
    RETRO_TRY(const TensorRun promise, runTensors(made, execute::SavePolicy::Autograd));
    RETRO_TRY(const TensorRun all, runTensors(made, execute::SavePolicy::All));
    RETRO_TRY(const lrp::RelevanceTable oracle, runOracle(made));
    std::string fault = checkTopo(golden, made);
    fault = fault.empty() ? checkControlFlow(golden, made, promise) : fault;
    fault =
        fault.empty() ? checkRelevance("relevance", golden.relevance, golden.oracle, made, promise.relevance) : fault;
    fault = fault.empty() ? checkRelevance("oracle", golden.oracle, golden.oracle, made, oracle) : fault;
    return fault.empty() ? faultBetween(made, promise, all, oracle) : fault;
}

} // namespace

int main() { return runGoldenCases("traversal", faultOf); }
