// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/programrun.h"

#include "core/execute/forward.h"
#include "core/lrp/program/programrunner.h"
#include "core/program/compile.h"

#include <fmt/format.h>

namespace retro::lrptest
{

namespace
{

using program::BufferId;

/// The case for an input whose signs and sizes differ.
TensorCase withOtherInputs(const TensorCase& tensorCase)
{
    TensorCase other = tensorCase;
    for (Tensor& input : other.inputs) {
        if (!tensor::isFloating(input.dtype())) {
            continue; // tokens: their number is how many rows the table has
        }
        std::vector<double> values;
        for (std::int64_t i = 0; i < input.size(); ++i) {
            values.push_back(0.75 - 1.25 * input.at(i) + 0.5 * static_cast<double>(i));
        }
        input = Tensor::of<double>(input.shape(), values);
    }
    return other;
}

std::string faultForInput(const TensorCase& tensorCase, const program::Program& program, execute::SavePolicy policy,
                          const lrp::RelevanceTable& expected)
{
    const auto relevance = runProgram(tensorCase, program, policy);
    if (!relevance) {
        return relevance.error().text();
    }
    const std::string where = firstDifference(tensorCase, expected, *relevance);
    return where.empty() ? where : "first pass and program differ at " + where;
}

// The same input and another one, whose first pass nobody made a program of. Relevance is the same under both policies.
std::string faultOfPrograms(const TensorCase& tensorCase, const TensorRun& promise, const TensorRun& all)
{
    const TensorCase other = withOtherInputs(tensorCase);
    const auto otherPass = runTensors(other, execute::SavePolicy::Autograd);
    if (!otherPass) {
        return otherPass.error().text();
    }
    for (const auto& [policy, first] :
         {std::pair{execute::SavePolicy::Autograd, &promise}, {execute::SavePolicy::All, &all}}) {
        const auto program = programOf(tensorCase, *first);
        std::string fault = program ? disorder(*program) : program.error().text();
        fault = fault.empty() ? faultForInput(tensorCase, *program, policy, promise.relevance) : fault;
        fault = fault.empty() ? faultForInput(other, *program, policy, otherPass->relevance) : fault;
        if (!fault.empty()) {
            return fault;
        }
    }
    return {};
}

} // namespace

base::Result<program::Program> programOf(const TensorCase& tensorCase, const TensorRun& firstPass)
{
    const graph::Graph& graph = tensorCase.model->graph();
    program::FirstPass pass(graph);
    for (const event::Event& event : firstPass.events) {
        RETRO_CHECK(pass.take(event));
    }
    return program::compile(pass, graph, graph.outputs(), base::Hash128{0, 1});
}

base::Result<lrp::RelevanceTable> runProgram(const TensorCase& tensorCase, const program::Program& program,
                                             execute::SavePolicy policy)
{
    RETRO_TRY(const execute::ForwardResult forward, execute::forward(tensorCase.model, tensorCase.inputs, policy));
    lrp::ProgramRunner runner(std::make_shared<const program::Program>(program), tensorCase.model,
                              std::make_shared<const lrp::RuleAssignment>(tensorCase.rules), policy);
    RETRO_TRY(lrp::RelevanceTable first, runner.run(forward.saved, tensorCase.starts()));
    RETRO_TRY(lrp::RelevanceTable second, runner.run(forward.saved, tensorCase.starts()));
    if (const std::string where = firstDifference(tensorCase, first, second); !where.empty()) {
        return base::inputError("two runs of one program differ", where);
    }
    return first;
}

std::string disorder(const program::Program& program)
{
    std::vector<program::InstructionIndex> madeBy(program.buffers.size(), program::kNever);
    std::vector<program::InstructionIndex> lastUse(program.buffers.size(), program::kNever);
    for (program::InstructionIndex i = 0; i < program.instructions.size(); ++i) {
        const program::Instruction& step = program.instructions[i];
        const bool isArgument = step.opcode < program::Opcode::Start;
        if (isArgument != (i < program.argsEnd)) {
            return fmt::format("instruction {} is in the wrong section", i);
        }
        for (const BufferId read : program.readsOf(step)) {
            if (read.isValid() && madeBy[read.index()] == program::kNever) {
                return fmt::format("instruction {} reads b{} before it is made", i, read.value);
            }
            if (read.isValid()) {
                lastUse[read.index()] = i;
            }
        }
        for (const BufferId made : program.writesOf(step)) {
            if (made.isValid() && madeBy[made.index()] != program::kNever) {
                return fmt::format("b{} is made twice", made.value);
            }
            if (made.isValid()) {
                madeBy[made.index()] = i;
            }
        }
    }
    for (std::size_t id = 0; id < program.buffers.size(); ++id) {
        if (program.buffers[id].madeBy != madeBy[id] || program.buffers[id].lastUse != lastUse[id]) {
            return fmt::format("b{} is said to be made or used last elsewhere", id);
        }
    }
    return {};
}

std::string faultOfEngines(const SpecGraph& spec) { return faultOnTensors(spec, faultOfPrograms); }

} // namespace retro::lrptest
