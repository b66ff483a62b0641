// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphfigure.h"

#include "core/base/file.h"
#include "views/common/paint/paintfile.h"
#include "views/common/run/runtexts.h"
#include "views/graph/emphasis.h"
#include "views/graph/graphpainter.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kFigureMargin = 16; // scene units around the graph
constexpr double kPngScale = 2;      // where the limits of PNG files allow it

PictureTexts textsOf(const trace::Run& run, const FigureState& state)
{
    PictureTexts texts = runTexts(run, state.position);
    if (state.run == nullptr) { // the graph alone, at no step
        texts.erase("step");
        texts.erase("visit");
    }
    return texts;
}

double pngScaleFor(const QSizeF& size)
{
    const bool isWithin = std::max(size.width(), size.height()) * kPngScale <= kMaxPngSide &&
                          size.width() * size.height() * kPngScale * kPngScale <= double(kMaxPngPixels);
    return isWithin ? kPngScale : 1;
}

/// Around what is emphasised.
layout::Rect areaOf(const GraphScene& scene, const Emphasis& emphasis)
{
    std::optional<layout::Rect> area;
    const auto add = [&](const layout::Rect& rect) { area = area ? area->united(rect) : rect; };
    for (layout::Index box = 0; box < scene.boxCount(); ++box) {
        if (!emphasis.isFaintBox(box)) {
            add(scene.layout.nodes[static_cast<std::size_t>(box)]);
        }
    }
    for (std::size_t edge = 0; edge < emphasis.edges.size(); ++edge) {
        for (const layout::Point& point : scene.layout.edge(static_cast<layout::Index>(edge))) {
            if (emphasis.edges[edge]) {
                add({point.x, point.y, 0, 0});
            }
        }
    }
    return area.value_or(scene.layout.bounds);
}

/// The part of the drawing that the options ask for, with a margin.
layout::Rect areaFor(const GraphScene& scene, const Emphasis& emphasis, const FigureOptions& options)
{
    if (!options.only.empty()) {
        return areaOf(scene, emphasis).grown(kFigureMargin);
    }
    return options.area ? *options.area : scene.layout.bounds.grown(kFigureMargin);
}

base::Result<void> writePicture(const std::filesystem::path& path, const std::shared_ptr<const GraphBook>& book,
                                const FigureState& state, const FigureOptions& options)
{
    RETRO_TRY(const auto scene, makeScene(book, options.closed));
    const GraphStatus status = makeStatus(*scene, state.run, state.position);
    std::vector<BoxText> texts(scene->visible.nodes.size());
    const PromisePath promise = state.run != nullptr ? makePath(*scene, *state.run, options.promise) : PromisePath();
    GraphPicture picture;
    picture.scene = scene.get();
    picture.status = &status;
    picture.texts = &texts;
    picture.path = &promise;
    picture.selectedValue = state.value;
    const Emphasis emphasis =
        options.only.empty() ? Emphasis() : emphasise(*scene, between(*scene->book, options.only));
    picture.emphasis = &emphasis;
    picture.isOnlyEmphasis = !options.only.empty();
    const layout::Rect area = areaFor(*scene, emphasis, options);
    const QSizeF size(std::ceil(area.width), std::ceil(area.height));
    GraphCamera camera;
    camera.place({area.x, area.y}, {0, 0});
    const Theme& colors = Theme::of(options.theme);
    const auto paint = [&](QPainter& painter) {
        painter.fillRect(QRectF(QPointF(), size), colors[Role::Base]);
        GraphPainter(painter, picture, camera, colors).paint(QRectF(QPointF(), size));
    };
    const std::string& name = book->run->facts.modelName;
    return paintToFile(path, size, paint, QString::fromStdString(name.empty() ? book->graph->name() : name),
                       textsOf(*book->run, state), pngScaleFor(size));
}

} // namespace

base::Result<void> writeFigure(const std::filesystem::path& path, const std::shared_ptr<const GraphBook>& book,
                               const FigureState& state, const FigureOptions& options)
{
    const std::string ending = path.extension().string();
    const bool isPart = !options.only.empty() || options.area;
    if (isPart && (ending == ".dot" || ending == ".json")) {
        return base::usageError("a part of a graph is written as .svg, .png or .pdf; .dot and .json have every node",
                                path.string());
    }
    if (ending == ".dot") {
        return base::writeFile(path, dotOf(*book, state));
    }
    if (ending == ".json") {
        return base::writeFile(path, jsonOf(*book, state));
    }
    return writePicture(path, book, state, options);
}

} // namespace retro::views
