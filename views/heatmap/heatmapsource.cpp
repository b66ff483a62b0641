// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/heatmapsource.h"

#include "core/trace/meantrelevance.h"
#include "views/common/numbertext.h"
#include "views/common/run/runtexts.h"
#include "views/heatmap/heatmaptranslation.h"
#include "views/heatmap/tableinput.h"
#include "views/heatmap/volume.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

namespace retro::views
{

namespace
{

bool isChannelsLast(const RunModel& model) { return model.input().layout == QLatin1String("NHWC"); }

// Four axes with more than one row and column.
bool isPictureShape(const tensor::Shape& shape, bool channelsLast)
{
    if (shape.size() != 4) {
        return false;
    }
    const std::int64_t height = shape[channelsLast ? 1 : 2];
    const std::int64_t width = shape[channelsLast ? 2 : 3];
    return height > 1 && width > 1;
}

/// The relevance of a series or a row of features, or of a value with as many steps as the series has.
bool isSeries(const RunModel& model, const tensor::Shape& shape)
{
    const QString& layout = model.input().layout;
    const auto inputs = model.graph().inputs();
    const bool hasSteps = layout == QLatin1String("NTC") || layout == QLatin1String("NT");
    if ((!hasSteps && !isTable(model)) || inputs.size() != 1) {
        return false;
    }
    const tensor::Shape& input = model.run().shapes[inputs.front().index()];
    return shape.size() >= 2 && shape.size() <= 3 && input.size() >= 2 && shape[0] == 1 && shape[1] == input[1];
}

QString placeOf(const RunModel& model, base::ValueId value)
{
    const base::NodeId node = model.graph().nodeOf(value);
    if (model.graph().isInput(node) && model.graph().inputs().size() == 1) {
        return heatmapText("at the input");
    }
    return heatmapText("at %1").arg(model.placeLabel(node));
}

void fillPlane(const RunModel& model, HeatmapContent& content)
{
    const bool channelsLast = isChannelsLast(model);
    content.isPicture = isPictureShape(content.relevance.shape(), channelsLast);
    if (content.isPicture) {
        auto plane = channelSum(content.relevance, 0, channelsLast);
        if (plane.ok()) {
            content.plane = std::move(plane).value();
            return;
        }
        content.isPicture = false;
    }
    content.isVolume = isVolumeShape(content.relevance.shape(), channelsLast);
    if (content.isVolume) {
        const int slices = slicesOf(content.relevance.shape(), channelsLast);
        content.slice = content.slice && *content.slice >= 0 && *content.slice < slices ? content.slice : std::nullopt;
        content.grid = volumeSlices(content.relevance, channelsLast, content.slice);
        content.plane = content.grid.plane;
        return;
    }
    content.isSteps = isSeries(model, content.relevance.shape());
    if (content.isSteps) {
        std::vector<double> sums = stepSums(content.relevance);
        content.plane = {static_cast<int>(sums.size()), 1, std::move(sums)};
        return;
    }
    content.grid = sliceGrid(content.relevance);
    content.plane = content.grid.plane;
}

QString missingReason(const RunModel& model, base::ValueId value)
{
    const base::NodeId node = model.graph().nodeOf(value);
    if (!node.isValid()) {
        return heatmapText("%1 is a constant: it gets no relevance.").arg(model.label(value));
    }
    const base::HandleId handle = model.relevanceHandle(value);
    if (handle.isValid()) {
        return heatmapText("The relevance of %1 was not kept in memory.").arg(model.placeLabel(node));
    }
    const auto step = model.relevanceStep(node, model.graph().value(value).producerOutput);
    if (step) {
        return heatmapText("The relevance of %1 has not arrived yet. It arrives at visit %2.")
            .arg(model.placeLabel(node), countText(std::int64_t{model.run().visitOf(*step - 1)} + 1));
    }
    return heatmapText("No relevance reaches %1 in this run.").arg(model.placeLabel(node));
}

PictureTexts textsOf(const RunModel& model, const HeatmapContent& content, const Scale& scale, const QString& map)
{
    PictureTexts texts = runTexts(model.run(), model.position());
    texts["target"] = targetName(model).toStdString();
    texts["value"] = model.label(content.value).toStdString();
    texts["scale"] = valueText(scale.limit, 6).toStdString();
    if (scale.gamma != 1) {
        texts["gamma"] = valueText(scale.gamma, 3).toStdString();
    }
    texts["colormap"] = map.toStdString();
    return texts;
}

/// A place between the middles of two neighbours.
struct Between
{
    int first = 0;
    int second = 0;
    double share = 0; ///< of the second
};

/// Where the middle of pixel `at` of `large` lies among `count` values.
Between betweenOf(int at, int count, int large)
{
    const double place = std::clamp((at + 0.5) * count / large - 0.5, 0.0, count - 1.0);
    const int first = static_cast<int>(place);
    return {first, std::min(first + 1, count - 1), place - first};
}

double mixed(const Plane& plane, const Between& across, const Between& down)
{
    const auto row = [&](int y) {
        return plane.at(across.first, y) * (1 - across.share) + plane.at(across.second, y) * across.share;
    };
    return row(down.first) * (1 - down.share) + row(down.second) * down.share;
}

/// The parts that have landed for a value, added up; invalid while there are none.
struct LandedParts
{
    tensor::Tensor sum;
    double total = 0;
    std::uint32_t landed = 0;
    std::uint32_t parts = 0;
};

LandedParts landedOf(const RunModel& model, base::ValueId value)
{
    LandedParts out;
    const base::NodeId id = value.isValid() ? model.graph().nodeOf(value) : base::NodeId();
    if (!id.isValid() || id.index() >= model.state().nodes.size() || value.index() >= model.run().shapes.size()) {
        return out;
    }
    const trace::NodeState& node = model.state().nodes[id.index()];
    std::vector<double> sum;
    for (const trace::Part& part : node.parts) {
        const tensor::Tensor* tensor = model.tensor(part.handle);
        if (tensor == nullptr || tensor->shape() != model.run().shapes[value.index()]) {
            continue; // a branch, a tensor that was not kept, or a part of another output
        }
        const tensor::Tensor plain = tensor->to(tensor::DType::Float64).contiguous();
        const auto values = plain.span<double>();
        sum.resize(values.size(), 0);
        std::transform(values.begin(), values.end(), sum.begin(), sum.begin(), std::plus<>());
        ++out.landed;
    }
    if (out.landed > 0) {
        out.parts = std::max<std::uint32_t>(out.landed, node.landed + node.missing);
        out.total = std::accumulate(sum.begin(), sum.end(), 0.0);
        out.sum = tensor::Tensor::of<double>(model.run().shapes[value.index()], std::span<const double>(sum));
    }
    return out;
}

} // namespace

QString targetName(const RunModel& model)
{
    const trace::RunFacts& facts = model.run().facts;
    if (!facts.targetIndex.empty()) {
        return model.className(facts.targetIndex.front());
    }
    return facts.targetValue.isValid() ? model.label(facts.targetValue) : QString();
}

HeatmapContent heatmapContent(const RunModel& model, const SelectedThing& selected, bool grows,
                              std::optional<int> slice)
{
    HeatmapContent content;
    content.slice = slice;
    const base::ValueId wanted = model.valueOf(selected);
    content.value = wanted.isValid() ? wanted : model.lastArrived();
    if (grows && !wanted.isValid() && model.state().current.isValid()) {
        const base::ValueId output = model.graph().firstOutput(model.state().current);
        const bool isThere =
            output.isValid() && (model.relevanceHandle(output).isValid() || landedOf(model, output).landed > 0);
        content.value = isThere ? output : content.value;
    }
    if (!content.value.isValid()) {
        content.reason = model.position() < model.run().eventCount()
                             ? heatmapText("No relevance has arrived anywhere yet. Step forward to see it.")
                             : heatmapText("No relevance arrives anywhere in this run.");
        return content;
    }
    content.place = placeOf(model, content.value);
    const tensor::Tensor* relevance = model.relevance(content.value);
    if (relevance == nullptr && grows) {
        LandedParts landed = landedOf(model, content.value);
        if (landed.landed > 0) {
            content.relevance = std::move(landed.sum);
            content.landed = landed.landed;
            content.parts = landed.parts;
            content.sum = landed.total;
            content.place =
                heatmapText("%1, part %2 of %3 so far").arg(content.place).arg(landed.landed).arg(landed.parts);
            fillPlane(model, content);
            return content;
        }
    }
    if (relevance == nullptr) {
        content.reason = missingReason(model, content.value);
        return content;
    }
    content.relevance = *relevance;
    content.sum = trace::meantSum(model.run(), content.value, model.relevanceHandle(content.value));
    fillPlane(model, content);
    return content;
}

void showTensor(const RunModel& model, const tensor::Tensor& tensor, HeatmapContent& content)
{
    content.relevance = tensor;
    fillPlane(model, content);
}

QImage inputPicture(const RunModel& model)
{
    if (!model.hasRun() || !model.input().isPicture || model.graph().inputs().empty()) {
        return {};
    }
    const tensor::Tensor* input = model.forwardValue(model.graph().inputs().front());
    if (input == nullptr) {
        return {};
    }
    const InputInfo& info = model.input();
    return pictureOfTensor(*input, info.scaleLow, info.scaleHigh, info.mean, info.deviation, isChannelsLast(model),
                           info.channels == QLatin1String("BGR"));
}

Plane enlargedPlane(const Plane& plane, int width, int height, bool isSmooth)
{
    Plane large{width, height, {}};
    large.values.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    for (int y = 0; y < height; ++y) {
        const Between down = betweenOf(y, plane.height, height);
        for (int x = 0; x < width; ++x) {
            large.values.push_back(isSmooth ? mixed(plane, betweenOf(x, plane.width, width), down)
                                            : plane.at(x * plane.width / width, y * plane.height / height));
        }
    }
    return large;
}

HeatmapFigure heatmapFigure(const RunModel& model, const HeatmapContent& content, const HeatmapSettings& settings)
{
    HeatmapFigure figure;
    figure.mode = content.isPicture || content.isVolume ? settings.mode : HeatmapMode::Only;
    figure.plane = content.plane;
    figure.bar.map = settings.map;
    figure.bar.scale = symmetricScale(content.plane.values, settings.percentile);
    if (!content.isPicture) {
        figure.bar.scale.notANumber = 0; // the lines between slices
    }
    if (settings.keptLimit) {
        figure.bar.scale = scaleWithLimit(content.plane.values, *settings.keptLimit);
    }
    figure.bar.scale.gamma = settings.gamma;
    figure.isSmooth = settings.isSmooth && content.isPicture;
    if (content.isSteps) {
        figure.strip = {featureNames(model), content.plane.values, figure.bar.scale, settings.map};
    }
    if (content.isVolume) {
        figure.picture = volumePicture(model, content.grid, content.slice);
    }
    const QString target = targetName(model);
    figure.bar.upperWord = heatmapText("for %1").arg(target);
    figure.bar.lowerWord = heatmapText("against");
    const QImage picture = content.isPicture ? inputPicture(model) : QImage();
    if (!picture.isNull() && picture.width() >= content.plane.width && picture.height() >= content.plane.height) {
        figure.picture = picture;
        figure.plane = enlargedPlane(content.plane, picture.width(), picture.height(), figure.isSmooth);
        figure.box = model.input().tagBox;
    }
    figure.caption = heatmapText("Relevance for “%1” %2").arg(target, content.place);
    figure.texts = textsOf(model, content, figure.bar.scale, settings.map.name());
    return figure;
}

} // namespace retro::views
