// SPDX-License-Identifier: Apache-2.0
#include "app/common/heatmapfile.h"

#include "app/common/guiapplication.h"
#include "views/common/numbertext.h"
#include "views/common/paint/heatmapimage.h"
#include "views/common/paint/heatmaplevels.h"
#include "views/common/paint/picture.h"
#include "views/common/paint/plane.h"
#include "views/common/run/runtexts.h"
#include "views/heatmap/stripfile.h"

#include <QCoreApplication>

#include <cmath>

namespace retro::app
{

namespace
{

/// Share of the values whose colour is not clipped.
constexpr double kPercentile = 99.9;

bool isStrip(const HeatmapJob& job) { return job.isSeries || !job.features.empty(); }

base::Result<views::Plane> planeOf(const HeatmapJob& job)
{
    const tensor::Tensor& relevance = job.relevance;
    if (std::vector<double> sums = views::stepSums(relevance); isStrip(job) && !sums.empty()) {
        return views::Plane{static_cast<int>(sums.size()), 1, std::move(sums)};
    }
    if (relevance.rank() == 4 || relevance.rank() == 3) {
        return views::channelSum(relevance);
    }
    return views::sliceGrid(relevance).plane;
}

/// How many numbers are none. The lines between the slices of a volume are nothing either, but no numbers.
std::int64_t notANumber(const tensor::Tensor& relevance)
{
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < relevance.size(); ++i) {
        count += std::isnan(relevance.at(i)) ? 1 : 0;
    }
    return count;
}

/// Grey levels have no colours and lie over nothing.
base::Result<void> checkLevels(const std::filesystem::path& path, const HeatmapJob& job)
{
    if (path.extension() != ".png" || job.overlay || job.colormap != HeatmapJob().colormap) {
        return base::usageError("--bits 16 writes the numbers as grey levels into a .png; leave --overlay and "
                                "--colormap away",
                                path.string());
    }
    return {};
}

views::PictureTexts textsOf(const HeatmapJob& job)
{
    return {{"model", job.modelName},           {"target", job.target},
            {"rules", job.composite},           {"model_hash", job.modelHash},
            {"step", std::to_string(job.step)}, {"visit", std::to_string(job.visit)},
            {"software", views::softwareText()}};
}

} // namespace

base::Result<void> checkColormap(const std::string& name)
{
    RETRO_CHECK(views::ColorMap::find(QString::fromStdString(name)));
    return {};
}

base::Result<void> writeHeatmap(const std::filesystem::path& path, const HeatmapJob& job)
{
    if (job.bits == 16) {
        RETRO_CHECK(checkLevels(path, job));
        RETRO_TRY(const views::Plane plane, planeOf(job));
        return views::writeLevels(path, plane, textsOf(job));
    }
    ensureGuiApplication();
    RETRO_TRY(const views::ColorMap map, views::ColorMap::find(QString::fromStdString(job.colormap)));
    views::HeatmapFigure figure;
    RETRO_TRY(figure.plane, planeOf(job));
    figure.bar.map = map;
    figure.bar.scale = views::symmetricScale(figure.plane.values, kPercentile);
    if (job.relevance.rank() > 4) {
        figure.bar.scale.notANumber = notANumber(job.relevance);
    }
    if (isStrip(job) && figure.plane.height == 1) {
        figure.strip = {{}, figure.plane.values, figure.bar.scale, map};
        for (const std::string& word : job.words) {
            figure.strip.words.append(QString::fromStdString(word));
        }
    }
    figure.picture = job.picture;
    figure.mode = job.overlay && !job.picture.isNull() ? views::HeatmapMode::Over : views::HeatmapMode::Only;
    figure.hasBar = !job.isPlain;
    figure.caption = job.isPlain ? QString()
                                 : QCoreApplication::translate("retro::app", "Relevance for %1 · %2 · %3")
                                       .arg(QString::fromStdString(job.target), QString::fromStdString(job.composite),
                                            QString::fromStdString(job.modelName));
    figure.texts = textsOf(job);
    figure.texts["scale"] = views::valueText(figure.bar.scale.limit, 6).toStdString();
    if (!figure.strip.isEmpty() && !job.features.empty() && !job.isPlain) {
        views::StepsChart chart;
        chart.features = job.features;
        return views::writeStrip(path, figure, chart);
    }
    return views::writeFigure(path, figure);
}

QImage pictureOfInput(const tensor::Tensor& input, const engine::PictureOptions& options)
{
    return views::pictureOfTensor(input, options.low, options.high, options.mean, options.deviation,
                                  options.layout == "NHWC", options.channels == "BGR");
}

} // namespace retro::app
