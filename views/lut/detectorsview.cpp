// SPDX-License-Identifier: Apache-2.0
#include "views/lut/detectorsview.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/lut/dataflowview.h"
#include "views/lut/lutchoice.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QVBoxLayout>

namespace retro::views
{

DetectorsView::DetectorsView(RunModel& model, Cursor& cursor, Selection& selection, LutChoice& choice, QWidget* parent)
    : View(model, cursor, selection, parent), m_choice(choice)
{
    setAccessibleName(tr("Table of a LUT layer"));
    setEmptyText(tr("The comparisons of a table appear here, once a model with a LUT layer was explained."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeTools());
    m_pane = new DetectorsPane(body);
    m_pane->setAccessibleName(tr("Comparisons"));
    auto* scroll = new QScrollArea(body);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setWidget(m_pane);
    column->addWidget(scroll, 1);
    setBody(body);
    connect(&choice, &LutChoice::layerChanged, this, [this] { schedule(Change::Run); });
    connect(&choice, &LutChoice::siteChanged, this, [this] { schedule(Change::Run); });
    connect(&choice, &LutChoice::detailChanged, this, [this] { schedule(Change::Run); });
}

QWidget* DetectorsView::makeTools()
{
    auto* line = new QWidget(this);
    auto* row = makeBox<QHBoxLayout>(line, {fonts::px(8), fonts::px(4), fonts::px(8), fonts::px(4)}, fonts::px(4));
    m_table = addField(tr("Table"), tr("Which table of the layer"), line);
    m_sample = addField(tr("Sample"), tr("Which sample, over all leading axes"), line);
    m_later = addField(tr("Query"), tr("The later position of the pair"), line);
    m_earlier = addField(tr("Key"), tr("The earlier position of the pair"), line);
    m_message = new ElidedLabel({}, Role::Text2, fonts::label(), line);
    row->addWidget(m_message, 1);
    return line;
}

QSpinBox* DetectorsView::addField(const QString& name, const QString& tip, QWidget* line)
{
    auto* label = new QLabel(name, line);
    auto* field = new QSpinBox(line);
    field->setAccessibleName(name);
    field->setToolTip(tip);
    label->setBuddy(field);
    line->layout()->addWidget(label);
    line->layout()->addWidget(field);
    connect(field, &QSpinBox::valueChanged, this, &DetectorsView::takeFields);
    return field;
}

void DetectorsView::takeFields()
{
    trace::TableSite site;
    site.sample = static_cast<std::uint64_t>(m_sample->value());
    site.table = static_cast<std::uint32_t>(m_table->value());
    site.later = static_cast<std::uint32_t>(m_later->value());
    site.earlier = static_cast<std::uint32_t>(m_earlier->value());
    m_choice.chooseSite(site);
}

QString DetectorsView::subject() const
{
    const LutLayer* layer = m_choice.layer();
    return layer != nullptr && model().hasRun()
               ? tr("%1 of %2").arg(m_choice.site().table).arg(model().placeLabel(layer->node))
               : QString();
}

QString DetectorsView::message() const { return m_message->text(); }

bool DetectorsView::canShow(const SelectedThing& thing) const
{
    const auto* node = std::get_if<base::NodeId>(&thing);
    return node != nullptr && m_choice.layer() != nullptr && m_choice.layer()->node == *node;
}

QString DetectorsView::emptyReason() const { return lutEmptyReason(m_choice); }

void DetectorsView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        m_choice.wantDetail();
        showSite();
        emit captionChanged();
    }
}

void DetectorsView::showSite()
{
    const LutLayer* layer = m_choice.layer();
    const bool isSequence = layer != nullptr && layer->request.shape.isSequence;
    const auto set = [](QSpinBox* field, std::uint64_t value, std::uint64_t most, std::uint64_t least, bool isShown) {
        const QSignalBlocker blocker(field);
        field->setRange(static_cast<int>(least), static_cast<int>(most));
        field->setValue(static_cast<int>(value));
        field->setVisible(isShown);
    };
    const trace::TableSite& site = m_choice.site();
    if (layer != nullptr) {
        const std::uint32_t last = std::max(layer->request.shape.length, 2U) - 1;
        set(m_table, site.table, std::max(layer->request.shape.tables, 1U) - 1, 0, true);
        set(m_sample, site.sample, std::max<std::uint64_t>(layer->request.batch, 1) - 1, 0, layer->request.batch > 1);
        set(m_later, site.later, last, 1, isSequence);
        set(m_earlier, site.earlier, std::max(site.later, 1U) - 1, 0, isSequence);
    }
    for (QLabel* label : findChildren<QLabel*>()) {
        if (label->buddy() != nullptr) {
            label->setVisible(label->buddy()->isVisibleTo(label->buddy()->parentWidget()));
        }
    }
    showChoice();
}

void DetectorsView::showChoice()
{
    const auto& detail = m_choice.detail();
    const bool isThere = detail != nullptr && detail->batch > 0;
    m_pane->setChoice(isThere ? trace::tableChoice(*detail, m_choice.site()) : trace::TableChoice());
    m_message->setRole(m_choice.problem().isEmpty() ? Role::Text2 : Role::AlarmText);
    m_message->setText(!m_choice.problem().isEmpty() ? m_choice.problem() : isThere ? QString() : tr("working …"));
}

} // namespace retro::views

#include "moc_detectorsview.cpp"
