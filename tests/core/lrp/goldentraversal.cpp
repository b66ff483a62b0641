// SPDX-License-Identifier: Apache-2.0
// golden_traversal: every case of the golden traversal files, on real tensors in double precision. Prints one line per
// failing case.
#include "tests/core/lrp/goldencheck.h"

#include <fmt/format.h>

#include <cstdio>

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

int main()
{
    const auto cases = readGoldenCases(goldenFolder("traversal"));
    if (!cases) {
        fmt::print(stderr, "{}\n", cases.error().text());
        return 1;
    }
    std::size_t failed = 0;
    for (const GoldenCase& golden : *cases) {
        const auto fault = faultOf(golden);
        const std::string text = fault.ok() ? *fault : fault.error().text();
        if (!text.empty()) {
            fmt::print("FAIL {}: {}\n", golden.name, text);
            ++failed;
        }
    }
    fmt::print("golden_traversal: {} cases, {} failed\n", cases->size(), failed);
    return failed == 0 ? 0 : 1;
}
