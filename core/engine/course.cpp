// SPDX-License-Identifier: Apache-2.0
#include "core/engine/course.h"

#include "core/engine/stopwatch.h"
#include "core/program/compile.h"

namespace retro::engine
{

namespace
{

/// Name of the first value whose relevance in the table is another one in any bit; empty when there is none.
std::string firstDifference(const FinishedPass& pass, const lrp::RelevanceTable& table)
{
    const graph::Graph& graph = pass.prepared.model->graph();
    for (std::size_t i = 0; i < graph.runNodeCount(); ++i) {
        const std::span<const base::ValueId> outputs = graph.outputsOf(base::NodeId(i));
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            const tensor::Tensor again = k < table[i].size() ? table[i][k] : tensor::Tensor();
            const tensor::Tensor first = outputs[k].isValid() ? pass.relevance[outputs[k].index()] : tensor::Tensor();
            if (outputs[k].isValid() &&
                (again.isValid() != first.isValid() || (first.isValid() && !first.bitEqual(again)))) {
                return "value '" + graph.value(outputs[k]).name + "'";
            }
        }
    }
    return {};
}

} // namespace

base::Result<double> makeProgram(const FinishedPass& pass, Course& course, const std::stop_token& stop)
{
    base::Result<program::Program> made =
        program::compile(pass.sink.pass, pass.prepared.model->graph(), pass.targets, pass.key);
    if (!pass.sink.fault.empty() || !made) {
        course.fault = pass.sink.fault.empty() ? made.error().text() : pass.sink.fault;
        return 0.0;
    }
    const auto program = std::make_shared<const program::Program>(std::move(made).value());
    lrp::ProgramRunner runner(program, pass.prepared.model, pass.prepared.rules, pass.save);
    const Stopwatch watch;
    std::vector<event::LedgerEntry> ledger;
    RETRO_TRY(const lrp::RelevanceTable again, runner.run(pass.saved, pass.starts, stop, &ledger));
    const double seconds = watch.seconds();
    const std::string where = firstDifference(pass, again);
    if (where.empty()) {
        course.program = program;
    } else {
        course.fault = "the program and the pass that it was made from differ at " + where;
    }
    return seconds;
}

} // namespace retro::engine
