// SPDX-License-Identifier: Apache-2.0
#include "core/engine/region/history.h"

#include "core/engine/compare/compare.h"
#include "core/engine/explain/explain.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/prepare.h"
#include "core/engine/results/runweights.h"
#include "core/lrp/rules/linearrule.h"
#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/rules/ruleformulas.h"
#include "core/ops/algebra.h"
#include "core/tensor/storagepool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
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
constexpr double kNamedPart = 1e-3;                         ///< of the largest part: smaller ones are not counted
constexpr double kWholeWithin = 1e-4; ///< of Σ|part|: so far a sum may be from the element's relevance in float32

std::vector<std::int64_t> placeAt(const tensor::Shape& shape, std::int64_t flat)
{
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        index[axis] = flat % shape[axis];
        flat /= shape[axis];
    }
    return index;
}

std::int64_t flatOf(const tensor::Shape& shape, std::span<const std::int64_t> index)
{
    std::int64_t flat = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        flat = flat * shape[axis] + index[axis];
    }
    return flat;
}

/// 1 at one element, else 0.
Tensor oneAt(tensor::DType dtype, const tensor::Shape& shape, std::int64_t flat)
{
    tensor::TensorBuffer buffer(dtype, shape);
    buffer.clear();
    if (dtype == tensor::DType::Float64) {
        buffer.data<double>()[flat] = 1;
    } else {
        buffer.data<float>()[flat] = 1;
    }
    return std::move(buffer).freeze();
}

/// The place of an element by where it lies in the memory of a dense tensor.
std::vector<std::int64_t> placeIn(const Tensor& dense, std::int64_t offset)
{
    std::vector<std::size_t> axes(dense.rank());
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    std::ranges::stable_sort(axes,
                             [&](std::size_t a, std::size_t b) { return dense.strides()[a] > dense.strides()[b]; });
    std::vector<std::int64_t> index(dense.rank(), 0);
    for (const std::size_t axis : axes) {
        if (dense.shape()[axis] > 1) {
            index[axis] = offset / dense.strides()[axis];
            offset %= dense.strides()[axis];
        }
    }
    return index;
}

/// The parts of a value that count.
struct Parts
{
    std::int64_t count = 0;
    std::vector<std::pair<std::vector<std::int64_t>, double>> largest; ///< place and part, by size
};

template <class T>
Parts partsIn(const Tensor& dense, std::size_t most)
{
    const std::span<const T> all(dense.data<T>(), static_cast<std::size_t>(dense.size()));
    T largest{0};
    for (const T part : all) {
        largest = std::max(largest, std::abs(part));
    }
    std::vector<std::int64_t> order;
    const T least = static_cast<T>(kNamedPart) * largest;
    for (std::size_t i = 0; i < all.size() && largest > 0; ++i) {
        if (std::abs(all[i]) >= least) {
            order.push_back(static_cast<std::int64_t>(i));
        }
    }
    Parts parts{std::ssize(order), {}};
    const auto count = static_cast<std::ptrdiff_t>(std::min(most, order.size()));
    std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](std::int64_t a, std::int64_t b) {
        const T x = std::abs(all[static_cast<std::size_t>(a)]);
        const T y = std::abs(all[static_cast<std::size_t>(b)]);
        return x != y ? x > y : a < b;
    });
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        const std::int64_t at = order[static_cast<std::size_t>(i)];
        parts.largest.emplace_back(placeIn(dense, at), static_cast<double>(all[static_cast<std::size_t>(at)]));
    }
    return parts;
}

Parts partsOf(const Tensor& dense, std::size_t most)
{
    return dense.dtype() == tensor::DType::Float64 ? partsIn<double>(dense, most) : partsIn<float>(dense, most);
}

} // namespace

Result<HistoryPlace> parseHistoryPlace(const std::string& text)
{
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        return base::usageError("write VALUE:i,j,… (the name of a value, then the place of one element)",
                                "--history " + text);
    }
    HistoryPlace place{text.substr(0, colon), {}};
    std::string_view rest = std::string_view(text).substr(colon + 1);
    while (true) {
        const std::size_t comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        std::int64_t number = 0;
        const auto read = std::from_chars(part.data(), part.data() + part.size(), number);
        if (read.ec != std::errc() || read.ptr != part.data() + part.size() || number < 0) {
            return base::usageError("write VALUE:i,j,… (the name of a value, then the place of one element)",
                                    "--history " + text);
        }
        place.index.push_back(number);
        if (comma == std::string_view::npos) {
            return place;
        }
        rest.remove_prefix(comma + 1);
    }
}

struct Historian::Data
{
    std::shared_ptr<const trace::Run> run;
    std::shared_ptr<const Prepared> prepared;
    std::optional<RegionAsker> asker;
    std::vector<Tensor> relevance;                   ///< by ValueId
    std::vector<std::optional<std::uint64_t>> steps; ///< by ValueId: when its relevance was known
    std::vector<ValueId> targets;
    std::unique_ptr<tensor::StoragePool> pool = std::make_unique<tensor::StoragePool>(kPoolBytes);

    [[nodiscard]] const graph::Graph& graph() const { return prepared->model->graph(); }

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
    [[nodiscard]] HistoryLastStep lastStep(ValueId value, std::int64_t flat, NodeId reader,
                                           std::span<const Tensor> ways) const;
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

} // namespace

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
    RETRO_TRY(data->prepared, prepare(*model, request, nullptr, stop));
    RETRO_CHECK(checkGraph(*run, *data->prepared->model));
    RETRO_CHECK(checkRules(*run, *data->prepared));
    data->relevance = finalRelevance(*run);
    data->targets = {run->facts.targetValue};
    const std::vector<Tensor> inputs = inPrecision(data->graph(), request.inputs, request.precision);
    RETRO_CHECK(expectWeightsOf(*run, data->prepared->model, inputs, stop));
    RETRO_TRY(RegionAsker asker,
              RegionAsker::make({data->prepared->model, *data->prepared->rules, data->targets, inputs, nullptr,
                                 run->values, data->prepared->composite.timesInput, stop}));
    data->asker.emplace(std::move(asker));
    data->findSteps();
    return Historian(std::move(data));
}

HistoryRow Historian::Data::rowOf(ValueId value, const Tensor& way, double asked, std::size_t most) const
{
    const Tensor& arrived = relevance[value.index()];
    const Tensor product = algebra::multiply(way, algebra::laidOutAs(arrived, way));
    const Parts parts = partsOf(product.isDense() ? product : product.contiguous(), most);
    HistoryRow row{
        value, graph().nodeOf(value), algebra::sum(product), algebra::sumAbsolute(product), false, parts.count, {}, {},
        {},    steps[value.index()]};
    for (const auto& [index, part] : parts.largest) {
        const std::int64_t flat = flatOf(way.shape(), index);
        row.largest.push_back({index, arrived.at(flat), way.at(flat), part});
    }
    row.isWhole = std::abs(row.sum - asked) <= kWholeWithin * row.magnitude;
    if (!graph().isInput(row.node)) {
        row.rule = prepared->words[row.node.index()].rule;
        row.formula = lrp::formulaOf(row.rule, prepared->words[row.node.index()].structure);
    }
    return row;
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
    const Tensor through = map.apply(oneAt(x.dtype(), x.shape(), flat), {});
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
    HistoryLastStep step{reader, {}, prepared->words[reader.index()].rule, {}, {}, 0, 0};
    step.formula = lrp::formulaOf(step.rule, prepared->words[reader.index()].structure);
    const Tensor& way = ways[result.index()];
    const Tensor& arrived = relevance[result.index()];
    const Tensor product = algebra::multiply(way, algebra::laidOutAs(arrived, way));
    const Parts parts = partsOf(product.isDense() ? product : product.contiguous(), 1);
    step.all = algebra::sum(product);
    if (parts.largest.empty()) {
        return step;
    }
    step.from = parts.largest.front().first;
    step.part = parts.largest.front().second;
    const std::int64_t best = flatOf(way.shape(), step.from);
    const ops::Structure& structure = prepared->model->op(reader).structure();
    if (structure.kind() == ops::StructureKind::LinearMap) {
        addLinearNumbers(static_cast<const ops::LinearMap&>(structure), value, flat, best, reader, step.numbers);
    }
    step.numbers.push_back({"R", arrived.at(best)});
    step.numbers.push_back({"part of one unit", way.at(best)});
    return step;
}

Result<History> Historian::of(const HistoryPlace& place, std::size_t most, const std::stop_token& stop) const
{
    const Stopwatch watch;
    const Data& data = *m_data;
    const tensor::StoragePool::Use use(*data.pool); // the next question takes the memory of this one
    const graph::Graph& graph = data.graph();
    const auto value = graph.findValue(place.value);
    if (!value) {
        return base::usageError("the run's graph has no value of this name", "--history " + place.value);
    }
    const tensor::Shape& shape = data.prepared->model->typeOf(*value).shape;
    const bool isInside = place.index.size() == shape.size() &&
                          std::equal(place.index.begin(), place.index.end(), shape.begin(), std::less<>());
    if (!isInside) {
        return base::usageError(fmt::format("the value is {}, and {} is no place in it", tensor::toText(shape),
                                            fmt::join(place.index, ",")),
                                "--history " + place.value);
    }
    const Tensor& own = data.relevance[value->index()];
    if (!own.isValid()) {
        return base::inputError(
            fmt::format("the run has no relevance of \"{}\": none reached it, or it was not kept", place.value));
    }
    History history{*value, place.index, own.at(flatOf(shape, place.index)), 0, {}, {}, 0, 0};
    const std::int64_t flat = flatOf(shape, place.index);
    RETRO_TRY(const std::vector<Tensor> ways,
              data.asker->askAt(*value, oneAt(execute::dtypeOf(data.prepared->model->precision()), shape, flat), stop));
    for (const ValueId target : data.targets) {
        history.start += algebra::sum(data.relevance[target.index()]);
    }
    for (std::size_t i = ways.size(); i-- > 0;) {
        if (!ways[i].isValid() || !data.relevance[i].isValid()) {
            continue;
        }
        HistoryRow row = data.rowOf(ValueId(i), ways[i], history.relevance, most);
        if (row.magnitude > 0 || ValueId(i) == *value) {
            history.rows.push_back(std::move(row));
        }
    }
    std::ranges::stable_sort(history.rows, [&](const HistoryRow& a, const HistoryRow& b) {
        const bool isInputA = graph.isInput(a.node);
        const bool isInputB = graph.isInput(b.node);
        return isInputA != isInputB ? isInputB : b.node < a.node;
    });
    for (const HistoryRow& row : history.rows) {
        if (row.isWhole && row.magnitude > 0) {
            history.apart = std::max(history.apart, std::abs(row.sum - history.relevance) / row.magnitude);
        }
    }
    for (const graph::Use& use : graph.uses(*value)) {
        const auto outputs = graph.outputsOf(use.node);
        if (!outputs.empty() && outputs[0].isValid() && ways[outputs[0].index()].isValid() &&
            data.relevance[outputs[0].index()].isValid()) {
            history.last.push_back(data.lastStep(*value, flat, use.node, ways));
        }
    }
    history.seconds = watch.seconds();
    return history;
}

} // namespace retro::engine
