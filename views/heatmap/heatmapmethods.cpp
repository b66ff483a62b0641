// SPDX-License-Identifier: Apache-2.0
// Maps of the input by other methods than relevance, in its place.
#include "views/heatmap/controlrow.h"
#include "views/heatmap/heatmapview.h"

#include <QComboBox>
#include <QSignalBlocker>

namespace retro::views
{

void HeatmapView::makeMethods(ControlRow& row)
{
    m_method = new QComboBox(this);
    m_method->setAccessibleName(tr("What the input is explained by"));
    m_method->setToolTip(m_method->accessibleName());
    m_method->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_method->addItem(tr("Relevance"));
    m_method->addItem(QStringLiteral("Grad-CAM"), QStringLiteral("gradcam"));
    m_method->addItem(QStringLiteral("Grad-CAM++"), QStringLiteral("gradcam++"));
    row.addChoice(*m_method, tr("Method"));
    connect(m_method, &QComboBox::currentIndexChanged, this, [this] {
        m_inputMap = {method(), {}, {}, tr("%1 is computed …").arg(m_method->currentText())};
        redraw();
        emit captionChanged();
        if (!method().isEmpty()) {
            emit mapWanted(method());
        }
    });
}

QString HeatmapView::method() const { return m_method->currentData().toString(); }

void HeatmapView::setInputMap(InputMap map)
{
    if (map.method == method()) {
        m_inputMap = std::move(map);
        redraw();
        emit captionChanged();
    }
}

void HeatmapView::clearInputMap()
{
    const QSignalBlocker blocker(m_method);
    m_method->setCurrentIndex(0);
    m_inputMap = {};
    redraw();
    emit captionChanged();
}

void HeatmapView::takeContent()
{
    const auto input = showsMap() ? model().graph().findValue(m_inputMap.input.toStdString()) : std::nullopt;
    m_content = input ? heatmapContent(model(), *input, false, m_settings.slice)
                      : heatmapContent(model(), selection().thing(), m_isGrowing, m_settings.slice);
    if (!input) {
        return applyQuantity();
    }
    m_content.reason.clear(); // relevance need not have arrived
    showTensor(model(), m_inputMap.values, m_content);
    m_content.place = m_inputMap.words;
}

} // namespace retro::views
