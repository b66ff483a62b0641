// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/program/programrunner.h"

#include "core/base/failure.h"
#include "core/lrp/traversal/partsum.h"
#include "core/ops/runoperator.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace retro::lrp
{

using program::Buffer;
using program::BufferId;
using program::Instruction;
using program::InstructionIndex;
using program::Opcode;

namespace
{

bool makesValue(Opcode opcode)
{
    return opcode == Opcode::Fetch || opcode == Opcode::Constant || opcode == Opcode::Carry ||
           opcode == Opcode::Forward;
}

/// Step `step` is the last so far that reads or writes the buffers.
void noteUse(std::span<const BufferId> buffers, std::size_t step, std::vector<std::size_t>& last)
{
    for (const BufferId id : buffers) {
        if (id.isValid()) {
            last[id.index()] = step;
        }
    }
}

} // namespace

ProgramRunner::ProgramRunner(std::shared_ptr<const program::Program> program,
                             std::shared_ptr<const execute::BoundModel> model,
                             std::shared_ptr<const RuleAssignment> rules, execute::SavePolicy save, bool keepsArguments)
    : m_program(std::move(program)), m_model(std::move(model)), m_rules(std::move(rules)), m_plan(*m_model, save),
      m_isAlsoKept(m_model->graph().valueCount(), false), m_buffers(m_program->buffers.size()),
      m_lost(m_program->buffers.size(), 0.0), m_resultOf(m_program->buffers.size(), 0)
{
    for (std::uint32_t i = 0; i < m_program->results.size(); ++i) {
        m_resultOf[m_program->results[i].buffer.index()] = i;
    }
    link();
    if (keepsArguments) {
        keepArguments();
        link();
    }
}

void ProgramRunner::link()
{
    m_sources.clear();
    m_steps.clear();
    for (std::uint32_t id = 0; id < m_program->buffers.size(); ++id) {
        m_sources.push_back(sourceOf(m_program->buffers[id], id));
    }
    for (InstructionIndex i = 0; i < m_program->instructions.size(); ++i) {
        m_steps.push_back(linked(i));
    }
    dropUnneeded(m_steps);
    findLastUses();
    findLastValues();
}

/// Values that rules read and that ARGS, or the rules' own nodes once more, would make.
void ProgramRunner::keepArguments()
{
    for (const Step& step : m_steps) {
        if (instruction(step).opcode != Opcode::Rule) {
            continue;
        }
        eachBuffer(step, [&](std::uint32_t id) {
            const Buffer& buffer = m_program->buffers[id];
            keep(buffer.kind == Buffer::Kind::Value ? m_model->graph().outputsOf(buffer.node)[buffer.item] : ValueId());
        });
        if (step.recomputesOutputs) {
            keepReadOutputs(step);
        }
    }
}

void ProgramRunner::keepReadOutputs(const Step& step)
{
    const NodeId node = instruction(step).node;
    const ops::Reads reads = step.site->rule->reads(m_model->op(node), step.site->tracked);
    const std::vector<ValueId>& outputs = m_model->graph().node(node).outputs;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        keep(reads.output(k) ? outputs[k] : ValueId());
    }
}

void ProgramRunner::keep(ValueId value)
{
    if (value.isValid() && !m_isAlsoKept[value.index()]) {
        m_isAlsoKept[value.index()] = true;
        m_alsoKept.push_back(value);
    }
}

ProgramRunner::Source ProgramRunner::kept(ValueId value) const
{
    const bool isAtHand =
        value.isValid() && (m_model->isConstant(value) || m_plan.keeps(value) || m_isAlsoKept[value.index()]);
    return isAtHand ? Source{Source::From::Kept, value.value} : Source{};
}

/// Where the content of a buffer is taken from.
ProgramRunner::Source ProgramRunner::sourceOf(const Buffer& buffer, std::uint32_t id) const
{
    const graph::Graph& graph = m_model->graph();
    Source found;
    if (buffer.kind == Buffer::Kind::Value) {
        found = kept(graph.outputsOf(buffer.node)[buffer.item]);
    } else if (buffer.kind == Buffer::Kind::Operand) {
        found = kept(graph.node(buffer.node).inputs[buffer.item]);
    }
    return found.from == Source::From::Kept ? found : Source{Source::From::Buffer, id};
}

ProgramRunner::Source ProgramRunner::sourceOf(BufferId buffer, ValueId otherwise) const
{
    return buffer.isValid() ? m_sources[buffer.index()] : kept(otherwise);
}

/// True when some buffer that the instruction writes is not kept anyway.
bool ProgramRunner::isMade(const Instruction& step) const
{
    return std::ranges::any_of(m_program->writesOf(step), [this](BufferId made) {
        return made.isValid() && m_sources[made.index()].from == Source::From::Buffer;
    });
}

ProgramRunner::Step ProgramRunner::linked(InstructionIndex index)
{
    const Instruction& step = m_program->instructions[index];
    Step result;
    result.index = index;
    switch (step.opcode) {
    case Opcode::Forward:
        linkOperands(step, m_program->readsOf(step), ~0ULL, result);
        break;
    case Opcode::Fetch:
    case Opcode::Constant:
        linkOperands(step, {}, ~0ULL, result);
        break;
    case Opcode::Carry: {
        std::vector<BufferId> buffers(step.item + 1);
        buffers.back() = m_program->readsOf(step).front();
        linkOperands(step, buffers, ~0ULL, result);
        break;
    }
    case Opcode::Rule:
        linkRule(step, result);
        break;
    case Opcode::Start:
    case Opcode::Sum:
    case Opcode::Snapshot:
        for (const BufferId part : m_program->readsOf(step)) {
            result.operands.push_back(sourceOf(part, ValueId()));
        }
        break;
    }
    return result;
}

/// Operands of a node: what the program brings (`buffers` per slot, as far as they go), else what is kept. Only those
/// whose bit is set in `read`.
void ProgramRunner::linkOperands(const Instruction& step, std::span<const BufferId> buffers, std::uint64_t read,
                                 Step& linked) const
{
    if (m_model->graph().isInput(step.node)) {
        return; // always kept
    }
    const std::vector<ValueId>& inputs = m_model->graph().node(step.node).inputs;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        const bool isRead = (read & ops::Reads::bit(slot)) != 0 && inputs[slot].isValid();
        const BufferId buffer = slot < buffers.size() ? buffers[slot] : BufferId();
        linked.operands.push_back(isRead ? sourceOf(buffer, inputs[slot]) : Source{});
    }
}

void ProgramRunner::linkRule(const Instruction& step, Step& linked)
{
    const NodeId node = step.node;
    const RulePointer& rule = (*m_rules)[node.index()].rule;
    std::vector<std::uint8_t> tracked;
    for (const BufferId part : m_program->writesOf(step)) {
        tracked.push_back(part.isValid() ? 1 : 0);
    }
    const ops::Reads reads = rule->reads(m_model->op(node), tracked);
    const std::vector<ValueId>& outputs = m_model->graph().node(node).outputs;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        Source found;
        if (reads.output(k)) {
            found = kept(outputs[k]);
            linked.recomputesOutputs = linked.recomputesOutputs || found.from == Source::From::Nowhere;
        }
        linked.outputs.push_back(found);
    }
    linkOperands(step, m_program->operandsOf(step), linked.recomputesOutputs ? ~0ULL : reads.operands, linked);
    linked.site = std::make_shared<const RuleSite>(ruleSite(*m_model, node, rule, std::move(tracked)));
}

/// Calls `visit` with everything that a step reads.
template <class Visit>
void ProgramRunner::eachSource(const Step& step, Visit&& visit)
{
    std::ranges::for_each(step.operands, visit);
    std::ranges::for_each(step.outputs, visit);
}

/// Calls `visit` with every buffer that a step reads.
template <class Visit>
void ProgramRunner::eachBuffer(const Step& step, Visit&& visit)
{
    eachSource(step, [&visit](const Source& source) {
        if (source.from == Source::From::Buffer) {
            visit(source.id);
        }
    });
}

/// Leaves out what makes values that nobody reads, or that are kept.
void ProgramRunner::dropUnneeded(std::vector<Step>& all)
{
    std::vector<bool> isRead(m_program->buffers.size(), false);
    std::vector<Step> needed;
    for (std::size_t i = all.size(); i-- > 0;) {
        const Instruction& step = instruction(all[i]);
        const bool isAsked = std::ranges::any_of(m_program->writesOf(step),
                                                 [&](BufferId made) { return made.isValid() && isRead[made.index()]; });
        if (makesValue(step.opcode) && !(isAsked && isMade(step))) {
            continue;
        }
        eachBuffer(all[i], [&](std::uint32_t id) { isRead[id] = true; });
        needed.push_back(std::move(all[i]));
    }
    std::ranges::reverse(needed);
    all = std::move(needed);
}

/// Relevance that a rule takes is read by its step, too. Buffers that nobody reads are let go where they are made.
void ProgramRunner::findLastUses()
{
    constexpr std::size_t kNowhere = ~std::size_t{0};
    std::vector<std::size_t> last(m_program->buffers.size(), kNowhere);
    for (std::size_t i = 0; i < m_steps.size(); ++i) {
        const Instruction& step = instruction(m_steps[i]);
        noteUse(m_program->writesOf(step), i, last);
        eachBuffer(m_steps[i], [&](std::uint32_t id) { last[id] = i; });
        noteUse(step.opcode == Opcode::Rule ? m_program->relevanceOf(step) : std::span<const BufferId>(), i, last);
    }
    const auto listAt = [&](std::uint32_t id) -> std::vector<std::uint32_t>& {
        Step& step = m_steps[last[id]];
        return m_program->buffers[id].isResult ? step.lastResults : step.lastUses;
    };
    for (std::uint32_t id = 0; id < last.size(); ++id) {
        if (last[id] != kNowhere) {
            listAt(id).push_back(id);
        }
    }
}

void ProgramRunner::findLastValues()
{
    std::vector<bool> isReadLater(m_model->graph().valueCount(), false);
    for (Step& step : std::views::reverse(m_steps)) {
        eachSource(step, [&](const Source& source) {
            const bool isValue = source.from == Source::From::Kept && !m_model->isConstant(ValueId(source.id));
            if (isValue && !isReadLater[source.id]) {
                isReadLater[source.id] = true;
                step.lastValues.emplace_back(source.id);
            }
        });
    }
}

std::vector<ValueId> ProgramRunner::readValues() const
{
    std::vector<ValueId> values;
    for (const Step& step : m_steps) {
        values.insert(values.end(), step.lastValues.begin(), step.lastValues.end());
    }
    return values;
}

base::Result<RelevanceTable> ProgramRunner::run(const execute::SavedValues& saved, std::span<const Tensor> starts,
                                                std::stop_token stop, std::vector<event::LedgerEntry>* ledger,
                                                const std::function<void(std::size_t, std::size_t)>& progress,
                                                MadeTensors* made, const TakeRelevance& take, const ValueIsRead& isRead)
{
    base::guard(starts.size() == m_program->starts && &saved.model() == m_model.get(),
                "a program runs on the model that it was compiled for");
    m_made = made;
    if (made != nullptr) {
        *made = {std::vector<std::vector<Tensor>>(m_model->graph().runNodeCount()),
                 std::vector<std::vector<Tensor>>(m_model->graph().runNodeCount())};
    }
    for (std::size_t i = 0; i < m_steps.size(); ++i) {
        if (stop.stop_requested()) {
            static_cast<void>(m_inputRows.take(0));
            m_buffers.assign(m_buffers.size(), Tensor());
            return base::Error{base::ErrorCode::Cancelled, "stopped during the relevance pass", {}};
        }
        carryOut(m_steps[i], saved, starts, ledger);
        letGo(m_steps[i], take, isRead);
        if (progress) {
            progress(i + 1, m_steps.size());
        }
    }
    if (ledger != nullptr) {
        std::ranges::copy(m_inputRows.take(static_cast<std::uint32_t>(m_program->instructions.size())),
                          std::back_inserter(*ledger));
    }
    return table(take);
}

/// Lets go what nothing reads after a step.
void ProgramRunner::letGo(const Step& step, const TakeRelevance& take, const ValueIsRead& isRead)
{
    if (isRead) {
        std::ranges::for_each(step.lastValues, isRead);
    }
    for (const std::uint32_t id : step.lastUses) {
        m_buffers[id] = Tensor();
    }
    for (std::size_t i = 0; take && i < step.lastResults.size(); ++i) {
        handOver(step.lastResults[i], take);
    }
}

void ProgramRunner::handOver(std::uint32_t buffer, const TakeRelevance& take)
{
    const Tensor relevance = std::exchange(m_buffers[buffer], Tensor());
    if (relevance.isValid()) {
        const program::RelevanceResult& result = m_program->results[m_resultOf[buffer]];
        take(result.node, result.output, relevance);
    }
}

void ProgramRunner::carryOut(const Step& step, const execute::SavedValues& saved, std::span<const Tensor> starts,
                             std::vector<event::LedgerEntry>* ledger)
{
    const Instruction& which = instruction(step);
    switch (which.opcode) {
    case Opcode::Fetch:
    case Opcode::Constant:
    case Opcode::Carry:
    case Opcode::Forward:
        computeValue(step, saved);
        return;
    case Opcode::Start:
        m_buffers[m_program->writesOf(which).front().index()] = starts[which.item];
        return;
    case Opcode::Sum:
        sumParts(step, ledger);
        return;
    case Opcode::Rule:
        applyRule(step, saved, ledger);
        return;
    case Opcode::Snapshot:
        return; // the relevance is a result of the run
    }
}

Tensor ProgramRunner::fetched(const Source& source, const execute::SavedValues& saved) const
{
    switch (source.from) {
    case Source::From::Nowhere:
        return {};
    case Source::From::Buffer:
        return m_buffers[source.id];
    case Source::From::Kept:
        return saved.anyValue(ValueId(source.id));
    }
    return {};
}

std::vector<Tensor> ProgramRunner::fetchedAll(const std::vector<Source>& sources,
                                              const execute::SavedValues& saved) const
{
    std::vector<Tensor> values;
    values.reserve(sources.size());
    for (const Source& source : sources) {
        values.push_back(fetched(source, saved));
    }
    return values;
}

void ProgramRunner::computeValue(const Step& step, const execute::SavedValues& saved)
{
    const Instruction& which = instruction(step);
    const graph::Node& node = m_model->graph().node(which.node);
    std::vector<Tensor> outputs = ops::forwardOrFail(m_model->op(which.node), node, fetchedAll(step.operands, saved));
    for (const BufferId made : m_program->writesOf(which)) {
        if (made.isValid()) {
            m_buffers[made.index()] = outputs[m_program->buffers[made.index()].item];
        }
    }
}

void ProgramRunner::sumParts(const Step& step, std::vector<event::LedgerEntry>* ledger)
{
    std::vector<Tensor> parts;
    std::vector<std::uint8_t> joined;
    for (const Source& part : step.operands) {
        parts.push_back(m_buffers[part.id]);
        joined.push_back(m_program->buffers[part.id].isJoined ? 1 : 0);
    }
    PartSum sum = sumOf(std::move(parts), joined, ledger != nullptr);
    m_buffers[m_program->writesOf(instruction(step)).front().index()] = std::move(sum.total);
    if (ledger != nullptr) {
        bookSum(step, sum.lost);
    }
    note(instruction(step));
}

/// What a sum lost goes into the row of its node's rule; an input has none.
void ProgramRunner::bookSum(const Step& step, double lost)
{
    const Instruction& which = instruction(step);
    if (!m_model->graph().isInput(which.node)) {
        m_lost[m_program->writesOf(which).front().index()] = lost;
        return;
    }
    const auto makerOf = [this](const Source& part) -> const Instruction& {
        return m_program->instructions[m_program->buffers[part.id].madeBy];
    };
    const auto reader = std::find_if(step.operands.rbegin(), step.operands.rend(),
                                     [&](const Source& part) { return makerOf(part).opcode == Opcode::Rule; });
    if (reader != step.operands.rend()) {
        m_inputRows.add(which.node, makerOf(*reader).node, lost);
    }
}

/// Keeps the relevance that a step made for whoever asked for it.
void ProgramRunner::note(const Instruction& step)
{
    if (m_made == nullptr) {
        return;
    }
    const bool isRule = step.opcode == Opcode::Rule;
    std::vector<Tensor>& kept = (isRule ? m_made->parts : m_made->sums)[step.node.index()];
    const std::span<const BufferId> buffers = m_program->writesOf(step);
    const std::size_t first = isRule ? 0 : step.item;
    kept.resize(std::max(kept.size(), first + buffers.size()));
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        kept[first + i] = buffers[i].isValid() ? m_buffers[buffers[i].index()] : Tensor();
    }
}

std::vector<Tensor> ProgramRunner::arrivedAt(const Instruction& which, double& lost) const
{
    std::vector<Tensor> relevance;
    relevance.reserve(which.outputs);
    for (const BufferId arrived : m_program->relevanceOf(which)) {
        relevance.push_back(arrived.isValid() ? m_buffers[arrived.index()] : Tensor());
        lost += arrived.isValid() ? m_lost[arrived.index()] : 0;
    }
    return relevance;
}

void ProgramRunner::applyRule(const Step& step, const execute::SavedValues& saved,
                              std::vector<event::LedgerEntry>* ledger)
{
    const Instruction& which = instruction(step);
    double lost = 0;
    const std::vector<Tensor> relevance = arrivedAt(which, lost);
    NodeValues values{fetchedAll(step.operands, saved), fetchedAll(step.outputs, saved)};
    if (step.recomputesOutputs) {
        const graph::Node& node = m_model->graph().node(which.node);
        values.outputs = ops::forwardOrFail(m_model->op(which.node), node, values.operands);
    }
    event::LedgerEntry row{.node = which.node.value, .visit = step.index};
    std::vector<Tensor> parts =
        lrp::applyRule(*m_model, which.node, *step.site, relevance, values, ledger == nullptr ? nullptr : &row, lost);
    if (ledger != nullptr) {
        ledger->push_back(row);
    }
    const std::span<const BufferId> made = m_program->writesOf(which);
    for (std::size_t slot = 0; slot < made.size(); ++slot) {
        if (made[slot].isValid()) {
            m_buffers[made[slot].index()] = std::move(parts[slot]);
        }
    }
    note(which);
}

/// Hands over the relevance of all values; no tensor stays behind.
RelevanceTable ProgramRunner::table(const TakeRelevance& take)
{
    for (std::size_t i = 0; take && i < m_program->results.size(); ++i) {
        handOver(m_program->results[i].buffer.value, take); // what no step made
    }
    RelevanceTable table(m_model->graph().runNodeCount());
    for (const program::RelevanceResult& result : m_program->results) {
        table[result.node.index()].resize(m_model->graph().outputsOf(result.node).size());
        table[result.node.index()][result.output] = std::move(m_buffers[result.buffer.index()]);
    }
    m_buffers.assign(m_buffers.size(), Tensor());
    return table;
}

} // namespace retro::lrp
