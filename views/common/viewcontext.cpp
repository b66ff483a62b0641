// SPDX-License-Identifier: Apache-2.0
#include "views/common/viewcontext.h"

#include "core/event/planevent.h"
#include "core/trace/meantrelevance.h"
#include "core/trace/targetplace.h"
#include "views/common/paint/marks.h"
#include "views/common/run/runindex.h"
#include "views/common/run/segments.h"
#include "views/common/run/turns.h"

#include <algorithm>
#include <utility>

namespace retro::views
{

namespace
{

QString text(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

/// All that tells an element of a target that has more than one row of classes per sample, with its class's label.
QString placeName(const trace::Run& run, std::int64_t index)
{
    const auto label = static_cast<std::size_t>(trace::classInTarget(run, index));
    const QString place = text(trace::placeInTarget(run, index));
    const bool hasLabel = label < run.facts.labels.size() && !run.facts.labels[label].empty();
    return hasLabel ? RunModel::tr("%1 (%2)").arg(place, text(run.facts.labels[label])) : place;
}

} // namespace

RunModel::RunModel(Cursor& cursor, QObject* parent)
    : QObject(parent), m_cursor(cursor), m_index(std::make_shared<const RunIndex>()), m_turns(new Turns(this))
{
    connect(&cursor, &Cursor::moved, this, &RunModel::follow);
}

void RunModel::setRun(RunHandle handle, InputInfo input, bool atEnd)
{
    m_handle = std::move(handle);
    m_meant.clear();
    m_input = std::move(input);
    m_loadState = hasRun() ? LoadState::Ready : LoadState::Empty;
    m_stage.clear();
    m_remedy.clear();
    if (hasRun() && m_handle.derived == nullptr) {
        m_handle.derived = std::make_shared<RunDerived>(m_handle.run);
    }
    m_index = hasRun() ? derived<RunIndex>() : std::make_shared<const RunIndex>();
    const std::uint64_t end = hasRun() ? run().eventCount() : 0;
    if (hasRun()) {
        m_handle.timeline->seek(atEnd ? end : 0);
    }
    emit loadStateChanged();
    emit runChanged();
    m_cursor.reset(end, atEnd ? end : 0); // follows with stateChanged()
}

RunHandle RunModel::handleOfItsOwn() const
{
    return {m_handle.run, std::make_shared<trace::Timeline>(*m_handle.timeline), m_handle.derived};
}

void RunModel::setLoading(const QString& stage, double fraction)
{
    m_loadState = LoadState::Loading;
    m_stage = stage;
    m_fraction = fraction;
    emit loadStateChanged();
}

void RunModel::setError(const QString& what, const QString& remedy)
{
    m_loadState = LoadState::Error;
    m_stage = what;
    m_remedy = remedy;
    emit loadStateChanged();
}

void RunModel::endLoading()
{
    m_loadState = hasRun() ? LoadState::Ready : LoadState::Empty;
    emit loadStateChanged();
}

void RunModel::follow(std::uint64_t position)
{
    if (hasRun()) {
        m_handle.timeline->seek(position);
    }
    emit stateChanged();
}

QString RunModel::label(base::NodeId node) const { return text(graph().labelOf(node)); }

QString RunModel::placeLabel(const graph::Graph& graph, base::NodeId node) { return text(graph.shortNameOf(node)); }

QString RunModel::label(base::ValueId value) const { return text(graph().value(value).name); }

QString RunModel::modeWord(std::uint32_t visit) const
{
    const event::Mode mode = series().mode[visit];
    return mode != event::Mode::None                   ? wordOf(mode)
           : visit < event::searchVisits(run().events) ? tr("planning")
                                                       : tr("by the plan");
}

QString RunModel::op(base::NodeId node) const { return text(graph().opOf(node)); }

QString RunModel::shapeText(base::ValueId value) const
{
    const bool isKnown = value.isValid() && value.index() < run().shapes.size();
    return isKnown ? text(tensor::toText(run().shapes[value.index()])) : QString();
}

QString RunModel::shortShapeText(base::ValueId value) const
{
    if (!value.isValid() || value.index() >= run().shapes.size()) {
        return {};
    }
    tensor::Shape shape = run().shapes[value.index()];
    if (shape.size() > 1 && shape.front() == 1) {
        shape.erase(shape.begin());
    }
    return text(tensor::toText(shape)).remove(QLatin1Char(' '));
}

QString RunModel::className(std::int64_t index) const
{
    if (index >= 0 && trace::hasDenseTarget(run())) {
        return placeName(run(), index);
    }
    if (index < 0) { // all of a value, or a segment of it
        const auto segment = trace::segmentOf(run());
        const base::ValueId value = run().facts.targetValue;
        return segment           ? tr("segment %1").arg(classLabel(*this, *segment))
               : value.isValid() ? label(value)
                                 : tr("class %1").arg(index);
    }
    return classLabel(*this, index);
}

base::HandleId RunModel::relevanceHandle(base::ValueId value) const
{
    if (!value.isValid()) {
        return {};
    }
    const base::NodeId node = graph().nodeOf(value);
    if (!node.isValid() || node.index() >= state().nodes.size()) {
        return {};
    }
    const std::vector<base::HandleId>& relevance = state().nodes[node.index()].relevance;
    const std::uint32_t output = graph().value(value).producerOutput;
    return output < relevance.size() ? relevance[output] : base::HandleId();
}

const tensor::Tensor* RunModel::tensor(base::HandleId handle) const
{
    const std::vector<tensor::Tensor>& all = run().tensors;
    const bool isThere = handle.isValid() && handle.index() < all.size() && all[handle.index()].isValid();
    return isThere ? &all[handle.index()] : nullptr;
}

const tensor::Tensor* RunModel::relevance(base::ValueId value, base::HandleId handle) const
{
    const tensor::Tensor* held = tensor(handle);
    if (held == nullptr || !trace::isProduct(run(), value)) {
        return held;
    }
    tensor::Tensor& meant = m_meant[handle];
    meant = meant.isValid() ? meant : trace::meantRelevance(run(), value, *held);
    return &meant;
}

const tensor::Tensor* RunModel::forwardValue(base::ValueId value) const
{
    if (!value.isValid()) {
        return nullptr;
    }
    if (value.index() < run().values.size() && run().values[value.index()].isValid()) {
        return &run().values[value.index()];
    }
    const tensor::Tensor& constant = graph().value(value).constant;
    return constant.isValid() ? &constant : nullptr;
}

base::NodeId RunModel::nodeOf(const SelectedThing& thing) const
{
    struct Finder
    {
        const RunModel& model;
        base::NodeId operator()(std::monostate) const { return {}; }
        base::NodeId operator()(base::NodeId node) const
        {
            return node.isValid() && node.index() < model.graph().runNodeCount() ? node : base::NodeId();
        }
        base::NodeId operator()(base::ValueId value) const
        {
            const bool isKnown = value.isValid() && value.index() < model.graph().valueCount();
            return isKnown ? model.graph().nodeOf(value) : base::NodeId();
        }
        base::NodeId operator()(base::PromiseId promise) const
        {
            const bool isKnown = promise.isValid() && promise.index() < model.state().promises.size();
            return isKnown ? model.state().promises[promise.index()].start : base::NodeId();
        }
    };
    return std::visit(Finder{*this}, thing);
}

base::ValueId RunModel::valueOf(const SelectedThing& thing) const
{
    if (const auto* value = std::get_if<base::ValueId>(&thing)) {
        return value->isValid() && value->index() < graph().valueCount() ? *value : base::ValueId();
    }
    const base::NodeId node = nodeOf(thing);
    return node.isValid() ? graph().firstOutput(node) : base::ValueId();
}

std::optional<std::uint64_t> RunModel::relevanceStep(base::NodeId node, std::uint32_t output) const
{
    return m_index->relevanceStep(node, output);
}

std::optional<std::uint64_t> RunModel::relevanceStep(base::NodeId node) const
{
    const bool isKnown = node.index() < graph().runNodeCount();
    const base::ValueId output = isKnown ? graph().firstOutput(node) : base::ValueId();
    return relevanceStep(node, graph().value(output).producerOutput);
}

base::ValueId RunModel::lastArrived() const { return m_index->lastArrived(position()); }

} // namespace retro::views

#include "moc_viewcontext.cpp"
