// SPDX-License-Identifier: Apache-2.0
#include "core/engine/region/history.h"

#include "core/base/memorylimit.h"
#include "core/engine/compare/compare.h"
#include "core/engine/diagnose.h"
#include "core/engine/explain/explain.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/prepare.h"
#include "core/engine/region/historyplace.h"
#include "core/engine/results/runweights.h"
#include "core/lrp/rules/linearrule.h"
#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/rules/ruleformulas.h"
#include "core/lrp/traversal/regionparts.h"
#include "core/ops/algebra.h"
#include "core/ops/threads.h"
#include "core/tensor/storagepool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <mutex>
#include <utility>

namespace retro::engine
{

namespace algebra = ops::algebra;
using base::NodeId;
using base::Result;
using base::ValueId;
using tensor::Tensor;

namespace
{

constexpr std::size_t kPoolBytes = std::size_t{512} << 20U; ///< what is kept between two questions
constexpr std::uint64_t kRoomFor = 4; ///< weights and relevance as they lie, denominators, and a run beside them
constexpr double kWholeWithin = 1e-4; ///< of Σ|part|: so far a sum may be from the element's relevance in float32

std::int64_t flatOf(const tensor::Shape& shape, std::span<const std::int64_t> index)
{
    std::int64_t flat = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        flat = flat * shape[axis] + index[axis];
    }
    return flat;
}

/// 1 at these elements, else 0.
Tensor oneAt(tensor::DType dtype, const tensor::Shape& shape, std::span<const std::int64_t> flats)
{
    tensor::TensorBuffer buffer(dtype, shape);
    buffer.clear();
    for (const std::int64_t flat : flats) {
        if (dtype == tensor::DType::Float64) {
            buffer.data<double>()[flat] = 1;
        } else {
            buffer.data<float>()[flat] = 1;
        }
    }
    return std::move(buffer).freeze();
}

std::string textOf(std::span<const std::int64_t> index)
{
    std::string text;
    for (const std::int64_t i : index) {
        text += (text.empty() ? "" : ",") + (i == HistoryPlace::kAll ? std::string("*") : std::to_string(i));
    }
    return text;
}

} // namespace

std::vector<std::int64_t> elementsAt(const tensor::Shape& shape, std::span<const std::int64_t> index)
{
    std::vector<std::int64_t> flats;
    if (index.size() != shape.size()) {
        return flats;
    }
    flats.push_back(0);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const bool isAll = index[axis] == HistoryPlace::kAll;
        const std::int64_t begin = isAll ? 0 : index[axis];
        const std::int64_t end = isAll ? shape[axis] : index[axis] + 1;
        std::vector<std::int64_t> next;
        for (const std::int64_t flat : flats) {
            for (std::int64_t i = begin; i < end && begin >= 0 && end <= shape[axis]; ++i) {
                next.push_back(flat * shape[axis] + i);
            }
        }
        flats = std::move(next);
    }
    return flats;
}

Result<HistoryPlace> parseHistoryPlace(const std::string& text)
{
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        return base::usageError("write VALUE:i,j,… (the name of a value, then the place of one element; * for all "
                                "along an axis)",
                                "--history " + text);
    }
    HistoryPlace place{text.substr(0, colon), {}};
    std::string_view rest = std::string_view(text).substr(colon + 1);
    while (true) {
        const std::size_t comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        std::int64_t number = HistoryPlace::kAll;
        const auto read = std::from_chars(part.data(), part.data() + part.size(), number);
        const bool isNumber = read.ec == std::errc() && read.ptr == part.data() + part.size() && number >= 0;
        if (!isNumber && part != "*") {
            return base::usageError("write VALUE:i,j,… (the name of a value, then the place of one element; * for all "
                                    "along an axis)",
                                    "--history " + text);
        }
        place.index.push_back(number);
        if (comma == std::string_view::npos) {
            return place;
        }
        rest.remove_prefix(comma + 1);
    }
}

Result<ValueId> historyValue(const trace::Run& run, const HistoryPlace& place)
{
    if (const auto value = run.graph->findValue(place.value)) {
        return *value;
    }
    std::vector<std::string> inputs;
    for (const ValueId input : run.graph->inputs()) {
        inputs.push_back(fmt::format("\"{}\"", run.graph->value(input).name));
    }
    return base::usageError(
        fmt::format("the run's graph has no value of this name; its inputs are {}", fmt::join(inputs, ", ")),
        "--history " + place.value);
}

struct Historian::Data
{
    std::shared_ptr<const trace::Run> run;
    std::shared_ptr<const execute::BoundModel> model;
    std::shared_ptr<const lrp::RuleAssignment> rules;
    std::optional<RegionAsker> asker;
    std::vector<Tensor> relevance;                   ///< by ValueId
    std::vector<std::optional<std::uint64_t>> steps; ///< by ValueId: when its relevance was known
    std::vector<ValueId> targets;
    std::unique_ptr<tensor::StoragePool> pool = std::make_unique<tensor::StoragePool>(kPoolBytes);

    mutable std::mutex mutex;             ///< the pool is one question's at a time
    mutable std::vector<Tensor> laid;     ///< by ValueId: relevance as the weights of the last question lie
    mutable std::vector<Tensor> arriving; ///< weights of a region that is all inputs; empty = not asked yet

    [[nodiscard]] const graph::Graph& graph() const { return model->graph(); }
    /// The rule of a node in the words of the run.
    [[nodiscard]] const trace::NodeRule& words(NodeId node) const { return run->rules[node.index()]; }

    Result<void> start(const std::vector<Tensor>& inputs, const std::stop_token& stop);

    Result<void> askArriving(const std::stop_token& stop) const
    {
        if (arriving.empty()) {
            RETRO_TRY(arriving, asker->ask(asker->whole(), stop));
        }
        return {};
    }

    void findSteps()
    {
        steps.resize(graph().valueCount());
        for (std::uint64_t step = 0; step < run->eventCount(); ++step) {
            const event::Event& event = run->events[step];
            if (event.kind == event::EventKind::Relevance && event.node < run->graph->runNodeCount()) {
                const auto outputs = graph().outputsOf(NodeId(event.node));
                if (event.slot < outputs.size() && outputs[event.slot].isValid()) {
                    steps[outputs[event.slot].index()] = step;
                }
            }
        }
    }

    [[nodiscard]] HistoryRow rowOf(ValueId value, const Tensor& way, double asked, std::size_t most) const;
    [[nodiscard]] std::vector<HistoryRow> rowsOf(std::span<const Tensor> ways, ValueId own, double asked,
                                                 std::size_t most) const;
    [[nodiscard]] HistoryLastStep lastStep(ValueId value, std::int64_t flat, NodeId reader,
                                           std::span<const Tensor> ways) const;
    /// What each reader of the value handed to the element; `ways` are the weights of the region.
    void addLastSteps(ValueId value, std::int64_t flat, std::span<const Tensor> ways, History& history) const;
    void addLinearNumbers(const ops::LinearMap& map, ValueId value, std::int64_t flat, std::int64_t from, NodeId reader,
                          std::vector<HistoryNumber>& numbers) const;
};

Historian::Historian(std::unique_ptr<Data> data) : m_data(std::move(data)) {}
Historian::Historian(Historian&&) noexcept = default;
Historian& Historian::operator=(Historian&&) noexcept = default;
Historian::~Historian() = default;

namespace
{

Result<void> checkRun(const trace::Run& run)
{
    for (const ValueId input : run.graph->inputs()) {
        if (input.index() >= run.values.size() || !run.values[input.index()].isValid()) {
            return base::inputError(fmt::format("the run did not keep the data of its input \"{}\"; record it again "
                                                "with explain --run",
                                                run.graph->value(input).name));
        }
    }
    if (!run.facts.targetValue.isValid()) {
        return base::inputError("the run does not say what was explained; record it with explain --run");
    }
    return {};
}

/// Names, operators and shapes.
Result<void> checkGraph(const trace::Run& run, const execute::BoundModel& model)
{
    const graph::Graph& graph = model.graph();
    if (graph.valueCount() != run.graph->valueCount() || graph.nodeCount() != run.graph->nodeCount()) {
        return otherModel(run, "its graph has other nodes");
    }
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const graph::Node& own = graph.node(base::NodeId(i));
        const graph::Node& other = run.graph->node(base::NodeId(i));
        if (own.op != other.op || own.inputs != other.inputs || own.outputs != other.outputs) {
            return otherModel(run, fmt::format("node '{}' is another one there", other.name));
        }
    }
    for (std::size_t i = 0; i < graph.valueCount() && i < run.values.size(); ++i) {
        const ValueId value(i);
        const bool isSame = graph.value(value).name == run.graph->value(value).name &&
                            (!run.values[i].isValid() || run.values[i].shape() == model.typeOf(value).shape);
        if (!isSame) {
            return otherModel(run, fmt::format("value \"{}\" is another one there", run.graph->value(value).name));
        }
    }
    return {};
}

Result<void> checkRules(const trace::Run& run, const Prepared& prepared)
{
    for (std::size_t i = 0; i < run.rules.size() && i < prepared.words.size(); ++i) {
        if (run.rules[i].rule != prepared.words[i].rule) {
            return base::inputError(fmt::format(
                "node \"{}\" had the rule \"{}\" in the run and has \"{}\" by the composite {} that the run "
                "names; record the run again with a composite that says it all",
                run.graph->nodes()[i].name, run.rules[i].rule, prepared.words[i].rule, run.facts.composite));
        }
    }
    return {};
}

/// How far the rows that have all of it lie from what was asked for.
double apartIn(const History& history)
{
    double apart = history.apart;
    for (const HistoryRow& row : history.rows) {
        if (row.isWhole && row.magnitude > 0) {
            apart = std::max(apart, std::abs(row.sum - history.relevance) / row.magnitude);
        }
    }
    return apart;
}

} // namespace

Result<void> Historian::Data::start(const std::vector<Tensor>& inputs, const std::stop_token& stop)
{
    relevance = finalRelevance(*run);
    laid.resize(relevance.size());
    targets = {run->facts.targetValue};
    const bool timesInput = run->facts.numbers.contains("times_input");
    RETRO_TRY(RegionAsker made,
              RegionAsker::make({model, *rules, targets, inputs, nullptr, run->values, timesInput, stop}));
    asker.emplace(std::move(made));
    findSteps();
    return {};
}

Result<Historian> Historian::of(const HistorySource& source, const std::stop_token& stop)
{
    RETRO_CHECK(checkRun(*source.run));
    RETRO_CHECK(checkGraph(*source.run, *source.model));
    auto data = std::make_unique<Data>();
    data->run = source.run;
    data->model = source.model;
    data->rules = source.rules;
    std::vector<Tensor> inputs;
    for (const ValueId input : source.run->graph->inputs()) {
        inputs.push_back(source.run->values[input.index()]);
    }
    RETRO_CHECK(data->start(inPrecision(data->graph(), inputs, source.model->precision()), stop));
    return Historian(std::move(data));
}

Result<Historian> Historian::open(const std::shared_ptr<const trace::Run>& run, const LoadedModelPointer& model,
                                  const std::stop_token& stop)
{
    RETRO_CHECK(checkRun(*run));
    if (!model) {
        return base::inputError(fmt::format("the weights of the model are needed, which a run file leaves out: put {} "
                                            "beside the run, or name it",
                                            run->facts.modelName));
    }
    ExplainRequest request;
    for (const ValueId input : run->graph->inputs()) {
        request.inputs.push_back(run->values[input.index()]);
    }
    request.composite = run->facts.composite;
    request.precision = run->facts.precision == "float64" ? execute::Precision::Double : execute::Precision::Float;
    auto data = std::make_unique<Data>();
    data->run = run;
    RETRO_TRY(const LoadedModelPointer fitting, withRewritesOf(*run, model, stop));
    RETRO_TRY(const std::shared_ptr<const Prepared> prepared, prepare(*fitting, request, nullptr, stop));
    data->model = prepared->model;
    data->rules = prepared->rules;
    RETRO_CHECK(checkGraph(*run, *data->model));
    RETRO_CHECK(checkRules(*run, *prepared));
    const std::vector<Tensor> inputs = inPrecision(data->graph(), request.inputs, request.precision);
    RETRO_CHECK(expectWeightsOf(*run, data->model, inputs, stop));
    RETRO_CHECK(data->start(inputs, stop));
    return Historian(std::move(data));
}

const std::vector<Tensor>& Historian::relevance() const { return m_data->relevance; }

Result<void> Historian::makeReady(const std::stop_token& stop) const
{
    const Data& data = *m_data;
    const graph::Graph& graph = data.graph();
    std::uint64_t bytes = 0; // of the weights of one question
    for (const Tensor& one : data.relevance) {
        bytes += one.isValid() ? static_cast<std::uint64_t>(one.bytes()) : 0;
    }
    if (bytes > kPoolBytes || base::whyNoMemory(kRoomFor * bytes)) {
        return {};
    }
    for (const ValueId input : graph.inputs()) { // with all its elements: no weight is left out because it is zero
        const Tensor& arrived = data.relevance[input.index()];
        if (arrived.isValid()) {
            const HistoryPlace place{graph.value(input).name,
                                     std::vector<std::int64_t>(arrived.rank(), HistoryPlace::kAll)};
            const Result<History> all = of(place, 1, stop);
            if (!all) {
                return all.error();
            }
        }
    }
    const std::lock_guard lock(data.mutex);
    return data.askArriving(stop);
}

Result<RegionResult> Historian::region(const RegionRequest& request, std::string_view layout,
                                       const std::stop_token& stop) const
{
    const Stopwatch watch;
    const Data& data = *m_data;
    RegionResult region;
    region.text = request.text();
    RETRO_TRY(region.masks, regionMasks(request, *data.model, layout));
    const std::lock_guard lock(data.mutex);
    RETRO_TRY(region.weights, data.asker->ask(region.masks, stop));
    if (request.arrives) {
        RETRO_CHECK(data.askArriving(stop));
        region.arriving = data.arriving;
    }
    region.total = regionTotal(region.masks, data.relevance, data.graph());
    region.seconds = watch.seconds();
    return region;
}

HistoryRow Historian::Data::rowOf(ValueId value, const Tensor& way, double asked, std::size_t most) const
{
    Tensor& arrived = laid[value.index()];
    if (!arrived.isValid()) {
        arrived = relevance[value.index()];
    }
    arrived = algebra::laidOutAs(arrived, way);
    const lrp::RegionParts parts = lrp::partsOf(way, arrived, most);
    HistoryRow row;
    row.value = value;
    row.node = graph().nodeOf(value);
    row.sum = parts.sum;
    row.magnitude = parts.magnitude;
    row.elements = parts.count;
    row.axis = way.rank() > 1 ? std::optional<std::size_t>(1) : std::nullopt;
    for (const auto& [index, part] : parts.channels) {
        row.channels.push_back({index, part});
    }
    row.where = parts.where;
    row.step = steps[value.index()];
    for (const auto& [index, part] : parts.largest) {
        const std::int64_t flat = flatOf(way.shape(), index);
        row.largest.push_back({index, arrived.at(flat), way.at(flat), part});
    }
    row.isWhole = std::abs(row.sum - asked) <= kWholeWithin * row.magnitude;
    if (!graph().isInput(row.node)) {
        row.rule = words(row.node).rule;
        row.formula = lrp::formulaOf(row.rule, words(row.node).structure);
    }
    return row;
}

/// Of the values that something passed, and of the value `own` itself; the last value first. A thread takes the next
/// row when it has made one: rows are long and short.
std::vector<HistoryRow> Historian::Data::rowsOf(std::span<const Tensor> ways, ValueId own, double asked,
                                                std::size_t most) const
{
    std::vector<std::size_t> wanted;
    for (std::size_t i = ways.size(); i-- > 0;) {
        if (ways[i].isValid() && relevance[i].isValid()) {
            wanted.push_back(i);
        }
    }
    std::vector<HistoryRow> rows(wanted.size());
    std::atomic<std::size_t> next{0};
    ops::parallelFor(ops::threads(), 1, [&](std::int64_t, std::int64_t) {
        for (std::size_t at = next++; at < wanted.size(); at = next++) {
            rows[at] = rowOf(ValueId(wanted[at]), ways[wanted[at]], asked, most);
        }
    });
    std::erase_if(rows, [own](const HistoryRow& row) { return !(row.magnitude > 0) && row.value != own; });
    return rows;
}

/// x, W, x·W and D of a linear map between two elements.
void Historian::Data::addLinearNumbers(const ops::LinearMap& map, ValueId value, std::int64_t flat, std::int64_t from,
                                       NodeId reader, std::vector<HistoryNumber>& numbers) const
{
    const Tensor x = asker->value(value);
    if (!x.isValid()) {
        return;
    }
    const double element = x.at(flat);
    const Tensor through = map.apply(oneAt(x.dtype(), x.shape(), std::array{flat}), {});
    const double weight = through.at(from);
    numbers.push_back({"x", element});
    numbers.push_back({"W", weight});
    numbers.push_back({"x·W", element * weight});
    const Tensor z = asker->value(graph().outputsOf(reader)[0]);
    if (z.isValid()) {
        numbers.push_back({"z", z.at(from)});
    }
}

HistoryLastStep Historian::Data::lastStep(ValueId value, std::int64_t flat, NodeId reader,
                                          std::span<const Tensor> ways) const
{
    const ValueId result = graph().outputsOf(reader)[0];
    HistoryLastStep step{reader, {}, words(reader).rule, {}, {}, 0, 0};
    step.formula = lrp::formulaOf(step.rule, words(reader).structure);
    const Tensor& way = ways[result.index()];
    const Tensor& arrived = relevance[result.index()];
    const lrp::RegionParts parts = lrp::partsOf(way, arrived, 1);
    step.all = parts.sum;
    if (parts.largest.empty()) {
        return step;
    }
    step.from = parts.largest.front().first;
    step.part = parts.largest.front().second;
    const std::int64_t best = flatOf(way.shape(), step.from);
    const ops::Structure& structure = model->op(reader).structure();
    if (structure.kind() == ops::StructureKind::LinearMap) {
        addLinearNumbers(static_cast<const ops::LinearMap&>(structure), value, flat, best, reader, step.numbers);
    }
    step.numbers.push_back({"R", arrived.at(best)});
    step.numbers.push_back({"part of one unit", way.at(best)});
    return step;
}

void Historian::Data::addLastSteps(ValueId value, std::int64_t flat, std::span<const Tensor> ways,
                                   History& history) const
{
    for (const graph::Use& reader : graph().uses(value)) {
        const auto outputs = graph().outputsOf(reader.node);
        if (!outputs.empty() && outputs[0].isValid() && ways[outputs[0].index()].isValid() &&
            relevance[outputs[0].index()].isValid()) {
            history.last.push_back(lastStep(value, flat, reader.node, ways));
        }
    }
}

Result<History> Historian::of(const HistoryPlace& place, std::size_t most, const std::stop_token& stop) const
{
    const Stopwatch watch;
    const Data& data = *m_data;
    const std::lock_guard lock(data.mutex);
    const tensor::StoragePool::Use use(*data.pool); // the next question takes the memory of this one
    const graph::Graph& graph = data.graph();
    RETRO_TRY(const ValueId value, historyValue(*data.run, place));
    const tensor::Shape& shape = data.model->typeOf(value).shape;
    const std::vector<std::int64_t> elements = elementsAt(shape, place.index);
    if (elements.empty()) {
        return base::usageError(
            fmt::format("the value is {}, and {} is no place in it", tensor::toText(shape), textOf(place.index)),
            "--history " + place.value);
    }
    const Tensor& own = data.relevance[value.index()];
    if (!own.isValid()) {
        return base::inputError(
            fmt::format("the run has no relevance of \"{}\": none reached it, or it was not kept", place.value));
    }
    History history{value, place.index, 0, 0, {}, {}, 0, 0};
    std::int64_t flat = elements.front(); // the largest of them, whose numbers are shown
    for (const std::int64_t element : elements) {
        history.relevance += own.at(element);
        flat = std::abs(own.at(element)) > std::abs(own.at(flat)) ? element : flat;
    }
    RETRO_TRY(const std::vector<Tensor> ways,
              data.asker->askAt(value, oneAt(execute::dtypeOf(data.model->precision()), shape, elements), stop));
    for (const ValueId target : data.targets) {
        history.start += algebra::sum(data.relevance[target.index()]);
    }
    history.rows = data.rowsOf(ways, value, history.relevance, most);
    std::ranges::stable_sort(history.rows, [&](const HistoryRow& a, const HistoryRow& b) {
        const bool isInputA = graph.isInput(a.node);
        const bool isInputB = graph.isInput(b.node);
        return isInputA != isInputB ? isInputB : b.node < a.node;
    });
    history.apart = apartIn(history);
    data.addLastSteps(value, flat, ways, history);
    history.seconds = watch.seconds();
    return history;
}

} // namespace retro::engine
