// SPDX-License-Identifier: Apache-2.0
#include "views/diagnose/nearestlist.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/diagnose/diagnosewords.h"
#include "views/diagnose/findingmark.h"

#include <QEvent>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace retro::views
{

namespace
{

constexpr std::size_t kMostNearest = 12;

/// What a check measured, as what it would have found.
diagnosis::Finding findingOf(const diagnosis::CheckRecord& record)
{
    diagnosis::Finding finding;
    finding.id = std::string(record.check->id);
    finding.numbers = {{std::string(record.check->statistic), record.largest}};
    finding.threshold = record.check->threshold;
    return finding;
}

} // namespace

NearestList::NearestList(QWidget* parent) : QWidget(parent), m_column(new QVBoxLayout(this))
{
    m_column->setContentsMargins(fonts::px(12), fonts::px(10), fonts::px(12), fonts::px(10));
    m_column->setSpacing(fonts::px(3));
}

std::vector<const diagnosis::CheckRecord*> NearestList::nearestOf(const diagnosis::Diagnosis& diagnosis,
                                                                  std::size_t most)
{
    std::set<std::string_view> found;
    for (const diagnosis::Finding& finding : diagnosis.findings) {
        found.insert(finding.id);
        for (const diagnosis::Finding& below : finding.also) {
            found.insert(below.id);
        }
    }
    std::vector<const diagnosis::CheckRecord*> nearest;
    for (const diagnosis::CheckRecord& record : diagnosis.checks) {
        const bool isNear = record.isRun && record.sites > 0 && record.largest > 0 && std::isfinite(record.largest) &&
                            record.largest <= record.check->threshold && !found.contains(record.check->id);
        if (isNear) {
            nearest.push_back(&record);
        }
    }
    const auto nearness = [](const diagnosis::CheckRecord* record) {
        return record->largest / record->check->threshold;
    };
    std::ranges::stable_sort(nearest, std::greater<>(), nearness);
    nearest.resize(std::min(most, nearest.size()));
    return nearest;
}

QLabel* NearestList::addText(const QString& text, const QFont& font, Role role)
{
    QLabel* label = makeBreakableLabel(text, font, this);
    m_column->addWidget(label);
    m_texts.emplace_back(label, role);
    return label;
}

void NearestList::applyColors()
{
    for (const auto& [label, role] : m_texts) {
        QPalette colors = label->palette();
        if (colors.color(QPalette::WindowText) != theme(this)[role]) {
            colors.setColor(QPalette::WindowText, theme(this)[role]);
            label->setPalette(colors);
        }
    }
}

void NearestList::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        applyColors();
    }
}

void NearestList::addRow(const diagnosis::CheckRecord& record)
{
    m_column->addSpacing(fonts::px(6));
    auto* what = addText(QString::fromUtf8(record.check->statistic), fonts::label(), Role::Text);
    what->setObjectName(QStringLiteral("measured"));
    what->setToolTip(tr("%1\nOn healthy models: %2")
                         .arg(QString::fromUtf8(record.check->id), QString::fromUtf8(record.check->healthy)));
    m_column->addWidget(new NumberBar(findingOf(record), this));
    auto* where = new ElidedLabel(QString::fromStdString(record.largestAt), Role::Text3, fonts::small(), this);
    m_column->addWidget(where);
}

void NearestList::setDiagnosis(const DiagnosisPointer& diagnosis)
{
    m_texts.clear();
    while (QLayoutItem* item = m_column->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    setVisible(diagnosis != nullptr && !diagnosis->failure);
    if (isHidden()) {
        return;
    }
    const std::vector<const diagnosis::CheckRecord*> nearest = nearestOf(*diagnosis, kMostNearest);
    if (!nearest.empty()) {
        addText(tr("Silent, and nearest to its limit"), fonts::label(QFont::DemiBold), Role::Text);
    }
    for (const diagnosis::CheckRecord* record : nearest) {
        addRow(*record);
    }
    if (!diagnosis->hasReference) {
        m_column->addSpacing(fonts::px(10));
        addText(tr("A wrong weight or a permuted input shows only beside something good: Check ▾, Compare with…"),
                fonts::label(), Role::Text2);
    }
    applyColors();
}

} // namespace retro::views

#include "moc_nearestlist.cpp"
