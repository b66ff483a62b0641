// SPDX-License-Identifier: Apache-2.0
#include "views/layers/layersview.h"

#include "views/common/csv.h"
#include "views/common/numbertext.h"
#include "views/common/run/gradientnote.h"
#include "views/layers/layerstrip.h"

#include <QPainter>

#include <algorithm>

namespace retro::views
{

namespace
{
constexpr int kPictureSide = 192;
}

LayersView::LayersView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Layers"));
    setEmptyText(tr("No layers yet. Open a model and a picture, then run."));
    m_strip = new LayerStrip(this);
    connect(m_strip, &LayerStrip::chosen, this, &LayersView::goTo);
    setBody(m_strip);
}

bool LayersView::isGradient() const { return model().hasRun() && model().derived<GradientNote>()->isGradient; }

RegionPointer LayersView::region() const
{
    return m_region != nullptr && model().hasRun() ? m_region->of(model().sharedRun()) : nullptr;
}

void LayersView::followRegion(const RegionOverlay& overlay)
{
    m_region = &overlay;
    connect(&overlay, &RegionOverlay::changed, this, [this] {
        schedule(Change::Run); // with the next frame, and not while it is hidden
        emit captionChanged();
    });
}

void LayersView::showRegion()
{
    const RegionPointer shown = region();
    QStringList shares;
    std::vector<QImage> pictures;
    for (std::size_t i = 0; shown && i < m_strip->layers().size(); ++i) {
        const base::ValueId value = m_strip->layers()[i].value;
        const RegionPart* part = shown->partOf(value);
        const tensor::Tensor product = shown->product(value);
        shares << valueText(part == nullptr ? 0 : part->total, 3);
        pictures.push_back(layerPicture(product.isValid() ? &product : nullptr, kPictureSide,
                                        model().input().layout == QLatin1String("NHWC")));
    }
    m_strip->setRegion(shares, std::move(pictures));
}

QString LayersView::subject() const
{
    if (const RegionPointer shown = region()) {
        return tr("what ends in the region, %1 altogether").arg(valueText(shown->total));
    }
    return isGradient() ? tr("magnitude of the gradient, Σ|·|") : tr("share of the relevance that has arrived");
}

QString LayersView::hint() const
{
    if (isGradient()) {
        return tr("From the class score on the left back to the input on the right. A gradient is not conserved: below "
                  "each layer stands the sum of its magnitudes, no share.");
    }
    return tr("From the class score on the left back to the input on the right. Drag to see the heatmap at any layer.");
}

bool LayersView::canShow(const SelectedThing& thing) const
{
    const base::NodeId node = model().hasRun() ? model().nodeOf(thing) : base::NodeId();
    const std::vector<Layer>& layers = m_strip->layers();
    return node.isValid() &&
           std::any_of(layers.begin(), layers.end(), [&](const Layer& layer) { return layer.node == node; });
}

QString LayersView::emptyReason() const
{
    return m_strip->layers().empty() ? tr("No layer of this run has relevance.") : QString();
}

void LayersView::rebuild()
{
    std::vector<Layer> layers = layerChain(model());
    std::vector<QImage> pictures;
    const bool isChannelsLast = model().input().layout == QLatin1String("NHWC");
    pictures.reserve(layers.size());
    for (const Layer& layer : layers) {
        const tensor::Tensor tensor = layerTensor(model(), layer);
        pictures.push_back(layerPicture(tensor.isValid() ? &tensor : nullptr, kPictureSide, isChannelsLast));
    }
    m_strip->setLayers(std::move(layers), std::move(pictures));
    showRegion();
}

void LayersView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        rebuild();
    }
    const std::vector<Layer>& layers = m_strip->layers();
    const auto arrived = std::count_if(layers.begin(), layers.end(),
                                       [&](const Layer& layer) { return layer.position <= model().position(); });
    m_strip->setArrived(static_cast<int>(arrived));
}

void LayersView::goTo(int layer)
{
    const std::vector<Layer>& layers = m_strip->layers();
    if (layer >= 0 && layer < static_cast<int>(layers.size())) {
        selection().clear(); // the heatmap follows the layer that arrived last
        cursor().moveTo(layers[static_cast<std::size_t>(layer)].position);
    }
}

base::Result<void> LayersView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun() || m_strip->layers().empty()) {
        return base::usageError("there are no layers to write", path.string());
    }
    CsvText text({"layer", "node", isGradient() ? "magnitude" : "share"});
    for (const Layer& layer : m_strip->layers()) {
        text.row(layer.name, model().label(layer.node), layer.magnitude.value_or(layer.share));
    }
    const QSizeF size(std::max(m_strip->width(), 600), std::max(m_strip->height(), 120));
    const auto paint = [&](QPainter& painter, const Theme& light) {
        m_strip->paint(painter, QRectF(QPointF(8, 4), size - QSizeF(16, 8)), light);
    };
    return write(path, text.take(), size, paint);
}

} // namespace retro::views

#include "moc_layersview.cpp"
