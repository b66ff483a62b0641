// SPDX-License-Identifier: Apache-2.0
// What is shown, as files.
#include "core/base/file.h"
#include "core/tensor/npy.h"
#include "views/common/csv.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/heatmaplevels.h"
#include "views/common/paint/pagefile.h"
#include "views/common/run/runtexts.h"
#include "views/heatmap/heatmapview.h"
#include "views/heatmap/otherrun.h"
#include "views/heatmap/stripfile.h"
#include "views/heatmap/tableinput.h"
#include "views/heatmap/volume.h"

#include <QPainter>

#include <span>

namespace retro::views
{

namespace
{

/// One line per step, counted from 1 as on screen; with its word or its feature and number where there are any.
std::string csvOfSteps(const Plane& plane, const QStringList& names, const std::vector<double>& numbers)
{
    const bool hasNames = names.size() == plane.width;
    const bool hasNumbers = static_cast<int>(numbers.size()) == plane.width;
    std::vector<const char*> columns{"step"};
    if (hasNames) {
        columns.push_back("name");
    }
    if (hasNumbers) {
        columns.push_back("value");
    }
    columns.push_back("relevance");
    CsvText text{std::span<const char* const>(columns)};
    for (int step = 0; step < plane.width; ++step) {
        text.add(std::int64_t{step} + 1);
        if (hasNames) {
            text.add(names[step]);
        }
        if (hasNumbers) {
            text.add(numbers[static_cast<std::size_t>(step)]);
        }
        text.add(plane.at(step, 0)).endRow();
    }
    return text.take();
}

/// One line per voxel that is shown.
std::string csvOfVolume(const RunModel& model, const HeatmapContent& content)
{
    CsvText text({"slice", "y", "x", "relevance"});
    const bool isChannelsLast = model.input().layout == QLatin1String("NHWC");
    const std::size_t first = isChannelsLast ? 1 : 2;
    for (int y = 0; y < content.plane.height; ++y) {
        for (int x = 0; x < content.plane.width; ++x) {
            if (const auto voxel =
                    voxelAt(content.relevance.shape(), content.grid, content.slice, {x, y}, isChannelsLast)) {
                text.row((*voxel)[first], (*voxel)[first + 1], (*voxel)[first + 2], content.plane.at(x, y));
            }
        }
    }
    return text.take();
}

std::string csvOf(const Plane& plane)
{
    CsvText text({"x", "y", "relevance"});
    for (int y = 0; y < plane.height; ++y) {
        for (int x = 0; x < plane.width; ++x) {
            text.row(x, y, plane.at(x, y));
        }
    }
    return text.take();
}

} // namespace

std::string HeatmapView::csv() const
{
    if (m_content.isVolume) {
        return csvOfVolume(model(), m_content);
    }
    if (!m_content.isSteps) {
        return csvOf(m_content.plane);
    }
    return csvOfSteps(m_content.plane, stepWords(), tableRow(model()));
}

base::Result<void> HeatmapView::exportTo(const std::filesystem::path& path)
{
    redraw();
    if (!model().hasRun() || !m_content.relevance.isValid()) {
        return base::usageError("there is no heatmap to write at this step", path.string());
    }
    if (path.extension() == ".npy") {
        return tensor::writeNpy(path, m_content.relevance);
    }
    if (path.extension() == ".csv") {
        return base::writeFile(path, csv());
    }
    HeatmapFigure figure = figureOf();
    if (m_other) {
        static_cast<void>(m_other->wipe(figure, model(), m_content, m_settings, m_wipe)); // said in the view
    }
    const bool isPage = path.extension() == ".html";
    if (m_content.isSteps) {
        return writeStrip(path, figure, chartOf(figure), isPage ? csv() : std::string());
    }
    if (isPage) {
        const QImage drawn = renderFigure(figure);
        return paintPage(
            path, drawn.size(), [&](QPainter& painter) { painter.drawImage(0, 0, drawn); }, figure.caption,
            figure.texts, 1, csv());
    }
    return writeFigure(path, figure);
}

base::Result<void> HeatmapView::exportLevels(const std::filesystem::path& path)
{
    redraw();
    if (!model().hasRun() || !m_content.relevance.isValid()) {
        return base::usageError("there is no heatmap to write at this step", path.string());
    }
    return writeLevels(path, m_content.plane, runTexts(model().run(), model().position()));
}

} // namespace retro::views
