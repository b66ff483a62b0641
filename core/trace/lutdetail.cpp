// SPDX-License-Identifier: Apache-2.0
#include "core/trace/lutdetail.h"

#include "core/event/launchevent.h"
#include "core/ops/algebra.h"
#include "core/ops/registry.h"
#include "kernels/lut/indexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

namespace retro::trace
{

namespace
{

using base::Result;
using ops::TableLookup;
using tensor::DType;
using tensor::Tensor;

DType floatTypeOf(const Run& run) { return run.facts.precision == "float64" ? DType::Float64 : DType::Float32; }

/// A value as the run holds it, a constant or one that was kept, in the floating type of the run.
Result<Tensor> heldValue(const Run& run, base::ValueId id)
{
    const Tensor& constant = run.graph->value(id).constant;
    const bool isKept = id.index() < run.values.size() && run.values[id.index()].isValid();
    const Tensor value = constant.isValid() || !isKept ? constant : run.values[id.index()];
    if (!value.isValid()) {
        return base::inputError("the run does not hold the value '" + run.graph->value(id).name +
                                "'; explain the model again to see it");
    }
    return tensor::isFloating(value.dtype()) ? value.to(floatTypeOf(run)) : value;
}

/// The operator of a layer for what it read.
ops::BoundResult boundAt(const LutSite& site)
{
    const graph::Node& node = site.graph.node(site.node);
    std::vector<ops::TensorType> types(node.inputs.size());
    std::vector<Tensor> constants(node.inputs.size());
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (const Tensor& value = site.operands[slot]; value.isValid()) {
            types[slot] = {value.dtype(), value.shape()};
            constants[slot] = site.graph.value(node.inputs[slot]).constant.isValid() ? value : Tensor();
        }
    }
    return ops::bind({site.graph, site.node, node, types, constants, site.floatType});
}

/// Relevance of a node's result, once known; invalid else.
Tensor relevanceOf(const Run& run, base::NodeId node)
{
    for (const event::Event& event : run.events) {
        const bool isIt = event.kind == event::EventKind::Relevance && event.node == node.value && event.slot == 0;
        if (isIt && event.handle < run.tensors.size()) {
            return run.tensors[event.handle];
        }
    }
    return {};
}

/// The layer of a node as the run holds it.
Result<LutSite> siteOf(const Run& run, base::NodeId id)
{
    const graph::Node& node = run.graph->node(id);
    LutSite site{*run.graph, id, std::vector<Tensor>(node.inputs.size()), relevanceOf(run, id), {}, floatTypeOf(run)};
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (node.inputs[slot].isValid()) {
            RETRO_TRY(site.operands[slot], heldValue(run, node.inputs[slot]));
        }
    }
    site.rule = id.index() < run.rules.size() ? run.rules[id.index()].rule : std::string();
    return site;
}

/// The stabiliser's epsilon as the rule's text has it ("lut flip-contrast, epsilon 1e-06"); the usual one without.
double epsilonOf(const std::string& text)
{
    constexpr double kUsual = 1e-6;
    constexpr std::string_view kWord = "epsilon ";
    const std::size_t at = text.find(kWord);
    return at == std::string::npos ? kUsual : std::strtod(text.c_str() + at + kWord.size(), nullptr);
}

/// How the rule of a node shared relevance among comparisons; nothing when it shared none among tables (a gradient,
/// stop). The usual way where the run does not say.
std::optional<lut::TableRule> tableRuleOf(const std::string& text)
{
    if (text.empty()) {
        return lut::TableRule::FlipContrast;
    }
    const auto says = [&text](std::string_view word) { return text.find(word) != std::string::npos; };
    if (!says("lut ")) {
        return std::nullopt;
    }
    return says("weakest-bit")   ? lut::TableRule::WeakestBit
           : says("signed-flip") ? lut::TableRule::SignedFlip
           : says("shapley")     ? lut::TableRule::Shapley
                                 : lut::TableRule::FlipContrast;
}

double slopeShare(double u) { return 0.5 / (1 + std::abs(u)); }

/// Reads one table's choice out of a detail.
class ChoiceReader
{
public:
    ChoiceReader(const LutDetail& detail, const TableSite& site) : m_detail(detail), m_site(site) {}

    TableChoice read()
    {
        const lut::LayerShape& shape = m_detail.shape;
        if (shape.isSequence) {
            addComparisons(ComparisonRow::Kind::Query, m_site.later, shape.codeBits + shape.comparisons);
            addComparisons(ComparisonRow::Kind::Key, m_site.earlier, shape.codeBits);
            addCodes();
        } else {
            addComparisons(ComparisonRow::Kind::Plain, 0, 0);
        }
        markWeakest();
        for (const ComparisonRow& one : m_choice.comparisons) {
            m_choice.row |= one.sets ? 1U << one.bit : 0U;
        }
        for (const ComparisonRow& one : m_choice.comparisons) {
            if (one.isWeakest) {
                m_choice.runnerUp = m_choice.row ^ (1U << one.bit);
                m_choice.share = 1 - slopeShare(one.difference);
            }
        }
        m_choice.chosenWeights = weightsOf(m_choice.row);
        m_choice.otherWeights = m_choice.runnerUp ? weightsOf(*m_choice.runnerUp) : std::vector<double>();
        return std::move(m_choice);
    }

private:
    void addComparisons(ComparisonRow::Kind kind, std::uint32_t position, std::uint32_t firstBit)
    {
        const lut::LayerShape& shape = m_detail.shape;
        const auto row = static_cast<std::int64_t>((m_site.sample * shape.length + position) * shape.inputs);
        for (std::uint32_t k = shape.comparisons; k-- > 0;) {
            ComparisonRow one;
            one.kind = kind;
            one.number = k;
            one.bit = firstBit + k;
            one.anchor = m_detail.anchors[std::size_t{m_site.table} * shape.comparisons + k];
            one.isUnused = one.anchor.a == lut::kUnusedAnchor;
            if (!one.isUnused) {
                one.first = m_detail.input.at(row + one.anchor.a);
                one.second = m_detail.input.at(row + one.anchor.b);
                one.difference = one.first - one.second;
                one.sets = one.difference > 0;
            }
            m_choice.comparisons.push_back(one);
        }
    }

    void addCodes()
    {
        const lut::LayerShape& shape = m_detail.shape;
        const std::uint64_t lag = m_site.later - m_site.earlier - 1;
        for (std::uint32_t p = shape.codeBits; p-- > 0;) {
            ComparisonRow one;
            one.kind = ComparisonRow::Kind::Code;
            one.number = p;
            one.bit = p;
            one.difference =
                m_detail.codes.at(static_cast<std::int64_t>((lag * shape.tables + m_site.table) * shape.codeBits + p));
            one.sets = one.difference > 0;
            m_choice.comparisons.push_back(one);
        }
    }

    /// The first smallest of the lowest bits; of two positions the key at a tie. Codes take part in gradients beside
    /// these, not in place of them.
    void markWeakest()
    {
        ComparisonRow* weakest = nullptr;
        for (auto at = m_choice.comparisons.rbegin(); at != m_choice.comparisons.rend(); ++at) {
            const bool counts =
                !at->isUnused && at->kind != ComparisonRow::Kind::Code && at->difference == at->difference;
            if (counts && (weakest == nullptr || std::abs(at->difference) < std::abs(weakest->difference))) {
                weakest = &*at;
            }
        }
        if (weakest != nullptr) {
            weakest->isWeakest = true;
        }
    }

    [[nodiscard]] std::vector<double> weightsOf(std::uint32_t row) const
    {
        std::vector<double> weights;
        const lut::LayerShape& shape = m_detail.shape;
        const auto first =
            static_cast<std::int64_t>((std::uint64_t{m_site.table} * shape.rows() + row) * shape.outputs);
        for (std::uint32_t o = 0; o < shape.outputs && !m_detail.isSparse; ++o) {
            weights.push_back(m_detail.weights.at(first + o));
        }
        return weights;
    }

    const LutDetail& m_detail;
    const TableSite& m_site;
    TableChoice m_choice;
};

/// What a relevance pass hands out, taken apart; a launch of it is the whole pass.
std::vector<ops::TableBuffer> relevanceBuffers(const LutDetail& detail, const lut::Schedule& schedule,
                                               std::size_t place)
{
    std::vector<ops::TableBuffer> all;
    const auto add = [&](lut::BufferId id, const Tensor& values) {
        const lut::Launch& launch = schedule.launches[place];
        if (!values.isValid() || schedule.find(id) == nullptr) {
            return;
        }
        ops::TableBuffer buffer;
        buffer.id = id;
        buffer.isRead = std::ranges::find(launch.reads, id) != launch.reads.end();
        buffer.isWritten = std::ranges::find(launch.writes, id) != launch.writes.end();
        buffer.count = static_cast<std::uint64_t>(values.size());
        buffer.least = values.size() > 0 ? values.at(0) : 0;
        buffer.most = buffer.least;
        for (std::int64_t i = 0; i < values.size(); ++i) {
            const double value = values.at(i);
            buffer.nonZeros += value != 0 ? 1 : 0;
            buffer.least = std::min(buffer.least, value);
            buffer.most = std::max(buffer.most, value);
        }
        buffer.values = values;
        all.push_back(std::move(buffer));
    };
    add(lut::BufferId::Input, detail.input);
    add(lut::BufferId::LookupIndices, detail.choices.rows);
    add(lut::BufferId::MinAnchorDeltas, detail.choices.deltas);
    add(lut::BufferId::MinAnchorDeltaIndices, detail.choices.bits);
    if (detail.relevance) {
        add(lut::BufferId::InputRelevance, detail.relevance->input);
        add(lut::BufferId::TableRelevance, detail.relevance->tables);
        add(lut::BufferId::PeRelevance, detail.relevance->codes);
        add(lut::BufferId::PairMap, detail.relevance->pairs);
    }
    return all;
}

/// The buffers of a pass as a launch left them. The launches of one pass of a node follow each other with their
/// buffers, and each is told once: where the place does not rise, another pass begins.
class RecordedBuffers
{
public:
    RecordedBuffers(const Run& run, std::uint64_t step) : m_run(run), m_step(step), m_launch(run.events[step]) {}

    std::vector<ops::TableBuffer> read()
    {
        takeLater(takeUntilLaunch(firstOfPass()));
        std::vector<ops::TableBuffer> all;
        for (auto& [id, buffer] : m_byId) {
            ops::takeFigures(buffer);
            all.push_back(std::move(buffer));
        }
        return all;
    }

private:
    static constexpr std::uint32_t kNoPlace = std::numeric_limits<std::uint32_t>::max();

    [[nodiscard]] static bool isLaunch(const event::Event& one) { return one.kind == event::EventKind::Launch; }

    [[nodiscard]] static bool isKnownBuffer(const event::Event& one)
    {
        return one.kind == event::EventKind::Buffer &&
               one.branch2 <= static_cast<std::uint32_t>(lut::BufferId::PairMap);
    }

    [[nodiscard]] bool isOfPass(const event::Event& one) const
    {
        return one.node == m_launch.node && one.branch == m_launch.branch && one.visit == m_launch.visit &&
               (isLaunch(one) || one.kind == event::EventKind::Buffer);
    }

    /// Walks back from the launch.
    [[nodiscard]] std::uint64_t firstOfPass() const
    {
        std::uint32_t last = kNoPlace;
        std::uint64_t first = m_step + 1;
        for (; first > 0; --first) {
            const event::Event& one = m_run.events[first - 1];
            if (!isOfPass(one) || (isLaunch(one) && one.slot >= last)) {
                break;
            }
            last = isLaunch(one) ? one.slot : last;
        }
        return first;
    }

    void take(std::uint64_t at, bool isOfLaunch)
    {
        const event::Event& one = m_run.events[at];
        ops::TableBuffer& buffer = m_byId[one.branch2];
        buffer.id = static_cast<lut::BufferId>(one.branch2);
        buffer.count = static_cast<std::uint64_t>(std::max<std::int64_t>(one.extra, 0));
        buffer.isRead = isOfLaunch && (one.flag & event::kBufferRead) != 0;
        buffer.isWritten = isOfLaunch && (one.flag & event::kBufferWritten) != 0;
        buffer.values = one.handle < m_run.tensors.size() ? m_run.tensors[one.handle] : Tensor();
    }

    /// Up to the launch and with its own buffers; hands back the place after them.
    std::uint64_t takeUntilLaunch(std::uint64_t at)
    {
        const auto isBuffer = [this](std::uint64_t place) {
            return place < m_run.eventCount() && m_run.events[place].kind == event::EventKind::Buffer;
        };
        for (; at <= m_step || isBuffer(at); ++at) {
            if (isKnownBuffer(m_run.events[at])) {
                take(at, at > m_step);
            }
        }
        return at;
    }

    /// What the pass was given and a later launch is the first to touch.
    void takeLater(std::uint64_t at)
    {
        std::set<std::uint32_t> written;
        std::uint32_t last = m_byId.empty() ? kNoPlace : m_launch.slot;
        for (; at < m_run.eventCount(); ++at) {
            const event::Event& one = m_run.events[at];
            if (!isOfPass(one) || (isLaunch(one) && one.slot <= last)) {
                break;
            }
            last = isLaunch(one) ? one.slot : last;
            if (isKnownBuffer(one) && !m_byId.contains(one.branch2)) {
                takeGiven(at, written);
            }
        }
    }

    /// A buffer that is read before anything writes it.
    void takeGiven(std::uint64_t at, std::set<std::uint32_t>& written)
    {
        const event::Event& one = m_run.events[at];
        if ((one.flag & event::kBufferWritten) != 0) {
            written.insert(one.branch2);
        } else if (!written.contains(one.branch2)) {
            take(at, false);
        }
    }

    const Run& m_run;
    std::uint64_t m_step;
    const event::Event& m_launch;
    std::map<std::uint32_t, ops::TableBuffer> m_byId;
};

void sortAsDeclared(LaunchDetail& detail)
{
    std::ranges::stable_sort(detail.buffers, {},
                             [&](const ops::TableBuffer& one) { return detail.schedule.find(one.id); });
}

} // namespace

Result<LutDetail> lutDetail(const LutSite& site, bool wantsChoices)
{
    const std::vector<Tensor>& operands = site.operands;
    RETRO_TRY(const auto op, boundAt(site));
    const auto* table = dynamic_cast<const TableLookup*>(&op->structure());
    if (table == nullptr) {
        return base::inputError("the node is no table lookup");
    }
    LutDetail detail;
    detail.node = site.node;
    detail.shape = table->layerShape();
    detail.batch = table->schedule(lut::Path::Fused, lut::Pass::Forward).batch;
    detail.isSparse = table->schedule(lut::Path::Fused, lut::Pass::Forward).isSparse;
    detail.anchors.assign(table->anchors().begin(), table->anchors().end());
    detail.input = operands[TableLookup::kInput].contiguous();
    detail.weights = operands[TableLookup::kWeights].contiguous();
    const bool hasCodes = operands.size() > TableLookup::kCodes && operands[TableLookup::kCodes].isValid();
    detail.codes = hasCodes ? operands[TableLookup::kCodes].contiguous() : Tensor();
    detail.choices = wantsChoices ? table->choices(operands) : ops::TableChoices();
    const std::optional<lut::TableRule> rule = tableRuleOf(site.rule);
    if (rule && site.arrived.isValid() && site.arrived.shape() == op->outputTypes().front().shape) {
        const ops::algebra::Stabiliser stabiliser{ops::algebra::StabiliserKind::Add, epsilonOf(site.rule), true};
        const auto divide = [&](const Tensor& y) {
            return ops::algebra::stabilisedQuotient(site.arrived.to(y.dtype()), y, stabiliser);
        };
        detail.relevance = table->distribute(divide, operands, *rule, true);
    }
    return detail;
}

Result<LutDetail> lutDetail(const Run& run, base::NodeId id)
{
    RETRO_TRY(const LutSite site, siteOf(run, id));
    return lutDetail(site);
}

Result<LaunchDetail> launchDetail(const Run& run, std::uint64_t step)
{
    const event::Event event = step < run.eventCount() ? run.events[step] : event::Event();
    const base::NodeId id(event.node);
    if (event.kind != event::EventKind::Launch || id.index() >= run.graph->nodeCount()) {
        return base::inputError("the event is no launch of a kernel");
    }
    RETRO_TRY(const LutSite site, siteOf(run, id));
    RETRO_TRY(const auto op, boundAt(site));
    const auto* table = dynamic_cast<const TableLookup*>(&op->structure());
    const auto pass = static_cast<lut::Pass>(event.branch);
    LaunchDetail detail;
    detail.launch = event.slot;
    const bool isMade = table != nullptr && pass <= lut::Pass::Relevance &&
                        lut::makeSchedule(table->schedule(table->path(), pass), detail.schedule).ok();
    if (!isMade || detail.launch >= detail.schedule.launches.size()) {
        return base::inputError(fmt::format("the layer of '{}' has no such launch", run.graph->labelOf(id)));
    }
    if (detail.buffers = RecordedBuffers(run, step).read(); !detail.buffers.empty()) {
        sortAsDeclared(detail);
        return detail;
    }
    if (pass == lut::Pass::Relevance) {
        RETRO_TRY(const LutDetail whole, lutDetail(run, id));
        detail.buffers = relevanceBuffers(whole, detail.schedule, detail.launch);
        return detail;
    }
    const ops::TensorType& type = op->outputTypes().front();
    Tensor gradients;
    if (pass == lut::Pass::Backward) {
        if (!site.arrived.isValid() || site.arrived.shape() != type.shape) {
            return base::inputError(fmt::format("the run does not hold what arrived at '{}'", run.graph->labelOf(id)));
        }
        gradients = site.arrived.to(type.dtype);
        if (site.rule.starts_with("lut ")) { // with share=gradient it hands R / stab(y) back
            const ops::algebra::Stabiliser stabiliser{ops::algebra::StabiliserKind::Add, epsilonOf(site.rule), true};
            gradients = ops::algebra::stabilisedQuotient(gradients, op->run(site.operands).front(), stabiliser);
        }
    }
    detail.buffers = table->buffersAfter(site.operands, gradients, pass, detail.launch);
    return detail;
}

Result<ops::LutDeviceTimes> lutDeviceTimes(const Run& run, base::NodeId id, lut::Path path)
{
    RETRO_TRY(const LutSite site, siteOf(run, id));
    RETRO_TRY(const auto op, boundAt(site));
    const auto* table = dynamic_cast<const ops::LutOperator*>(&op->structure());
    if (table == nullptr) {
        return base::inputError("the node is no table lookup");
    }
    return table->timeOnDevice(site.operands, path);
}

TableChoice tableChoice(const LutDetail& detail, const TableSite& site) { return ChoiceReader(detail, site).read(); }

} // namespace retro::trace
