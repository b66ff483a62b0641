// SPDX-License-Identifier: Apache-2.0
#include "app/common/heatmapfile.h"

#include "app/common/guiapplication.h"
#include "views/common/numbertext.h"
#include "views/common/paint/heatmapimage.h"
#include "views/common/paint/heatmaplevels.h"
#include "views/common/paint/plane.h"
#include "views/common/run/runtexts.h"

#include <QCoreApplication>

namespace retro::app
{

namespace
{

/// Share of the values whose colour is not clipped.
constexpr double kPercentile = 99.9;

base::Result<views::Plane> planeOf(const tensor::Tensor& relevance, bool isSeries)
{
    if (std::vector<double> sums = views::stepSums(relevance); isSeries && !sums.empty()) {
        return views::Plane{static_cast<int>(sums.size()), 1, std::move(sums)};
    }
    if (relevance.rank() == 4 || relevance.rank() == 3) {
        return views::channelSum(relevance);
    }
    return views::sliceGrid(relevance).plane;
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

base::Result<void> writeHeatmap(const std::filesystem::path& path, const HeatmapJob& job)
{
    if (job.bits == 16) {
        RETRO_CHECK(checkLevels(path, job));
        RETRO_TRY(const views::Plane plane, planeOf(job.relevance, job.isSeries));
        return views::writeLevels(path, plane, textsOf(job));
    }
    ensureGuiApplication();
    RETRO_TRY(const views::ColorMap map, views::ColorMap::find(QString::fromStdString(job.colormap)));
    views::HeatmapFigure figure;
    RETRO_TRY(figure.plane, planeOf(job.relevance, job.isSeries));
    figure.bar.map = map;
    figure.bar.scale = views::symmetricScale(figure.plane.values, kPercentile);
    if (job.isSeries && figure.plane.height == 1) {
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
    return views::writeFigure(path, figure);
}

} // namespace retro::app
