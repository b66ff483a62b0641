// SPDX-License-Identifier: Apache-2.0
// What belongs to one kind of data: slices of a volume, links of an attention, outlines of segments.
#include "views/common/paint/fonts.h"
#include "views/common/run/segments.h"
#include "views/heatmap/heatmapcanvas.h"
#include "views/heatmap/heatmapview.h"
#include "views/heatmap/tableinput.h"
#include "views/heatmap/volume.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>

namespace retro::views
{

QWidget* HeatmapView::makeKindRow(QWidget* parent)
{
    m_kindRow = new QWidget(parent);
    auto* row = new QHBoxLayout(m_kindRow);
    row->setContentsMargins(fonts::px(10), 0, fonts::px(10), fonts::px(4));
    m_sliceName = new QLabel(m_kindRow);
    m_sliceName->setFont(fonts::label());
    m_slice = new QSlider(Qt::Horizontal, m_kindRow);
    m_slice->setAccessibleName(tr("Slice of the volume; all of them at the left end"));
    m_slice->setToolTip(m_slice->accessibleName());
    m_slice->setPageStep(1);
    m_links = new QComboBox(m_kindRow);
    m_links->setAccessibleName(tr("Which attention the links between words are of"));
    m_links->setToolTip(m_links->accessibleName());
    m_links->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    row->addWidget(m_sliceName);
    row->addWidget(m_slice, 1);
    row->addWidget(m_links);
    row->addStretch(1);
    connect(m_slice, &QSlider::valueChanged, this, [this](int at) {
        m_settings.slice = at == 0 ? std::nullopt : std::optional(at - 1);
        redraw();
        emit captionChanged();
    });
    connect(m_links, &QComboBox::currentIndexChanged, this, &HeatmapView::redraw);
    m_kindRow->hide();
    return m_kindRow;
}

void HeatmapView::showLinkChoices()
{
    const QSignalBlocker blocker(m_links);
    const QString before = m_links->currentText();
    m_links->clear();
    m_links->addItem(tr("No attention links"), -1);
    for (std::size_t i = 0; i < m_attentions.size(); ++i) {
        const AttentionPlace& place = m_attentions[i];
        m_links->addItem(tr("%1: all heads").arg(place.name), static_cast<int>(i));
        m_links->setItemData(m_links->count() - 1, -1, Qt::UserRole + 1);
        for (std::int64_t head = 0; head < place.heads && place.heads > 1; ++head) {
            m_links->addItem(tr("%1: head %2").arg(place.name).arg(head), static_cast<int>(i));
            m_links->setItemData(m_links->count() - 1, static_cast<int>(head), Qt::UserRole + 1);
        }
    }
    const int same = m_links->findText(before);
    m_links->setCurrentIndex(same >= 0 ? same : m_attentions.empty() ? 0 : 1); // the one next to the words
}

void HeatmapView::showKindRow()
{
    const int slices =
        m_content.isVolume ? slicesOf(m_content.relevance.shape(), model().input().layout == QLatin1String("NHWC")) : 0;
    const QSignalBlocker blocker(m_slice);
    m_slice->setRange(0, slices);
    m_slice->setValue(m_content.slice ? *m_content.slice + 1 : 0);
    m_sliceName->setText(m_content.slice ? tr("Slice %1 of %2").arg(*m_content.slice + 1).arg(slices)
                                         : tr("All %1 slices").arg(slices));
    m_sliceName->setVisible(slices > 0);
    m_slice->setVisible(slices > 0);
    const bool hasLinks = m_content.isSteps && !m_attentions.empty();
    m_links->setVisible(hasLinks);
    m_kindRow->setVisible(slices > 0 || hasLinks);
}

StepsChart HeatmapView::chartOf(const HeatmapFigure& figure) const
{
    StepsChart table;
    table.features = tableRow(model());
    if (table.features.size() == m_content.plane.values.size()) {
        return table; // the bars are the strip
    }
    StepsChart chart = stepsChart(model(), m_content.value, m_content.plane.values, figure.bar.scale, figure.bar.map);
    const int which = m_links->currentData().toInt();
    if (which >= 0 && static_cast<std::size_t>(which) < m_attentions.size() && m_links->count() > 1) {
        chart.links = attentionLinks(model(), m_attentions[static_cast<std::size_t>(which)],
                                     m_links->currentData(Qt::UserRole + 1).toInt());
        chart.linksName = m_links->currentText();
    }
    return chart;
}

/// The segments of the output over what lies over the input, where both have one size.
void HeatmapView::showOutlines()
{
    QList<QLineF> asked;
    QList<QLineF> others;
    const auto segments = model().derived<Segments>();
    const bool fits = m_content.isPicture && segments && !segments->isEmpty() && segments->asked() &&
                      segments->width() == m_planeSize.width() && segments->height() == m_planeSize.height();
    if (fits) {
        asked = segments->outline(segments->asked());
        others = segments->outline(std::nullopt);
    }
    m_canvas->setOutlines(std::move(asked), std::move(others));
}

} // namespace retro::views
