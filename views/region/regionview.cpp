// SPDX-License-Identifier: Apache-2.0
#include "views/region/regionview.h"

#include "views/common/csv.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/flowlayout.h"
#include "views/common/widgets/listtable.h"
#include "views/region/channelstrip.h"
#include "views/region/classshares.h"
#include "views/region/regionvalues.h"

#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QSignalBlocker>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace retro::views
{

using fonts::px;

namespace
{

constexpr std::size_t kMostChannels = 24; ///< that are drawn
constexpr std::size_t kMostMaps = 8;      ///< conditional maps at a time: each is a pass
constexpr int kValueWidth = 420;
constexpr int kPaneWidth = 280;
constexpr int kPaneHeight = 110;

QToolButton* makeButton(const QString& text, const QString& tip, QWidget* parent)
{
    auto* button = new QToolButton(parent);
    button->setText(text);
    button->setToolTip(tip);
    button->setFont(fonts::label());
    return button;
}

} // namespace

RegionView::RegionView(RunModel& model, Cursor& cursor, Selection& selection, RegionOverlay& overlay, QWidget* parent)
    : View(model, cursor, selection, parent), m_overlay(overlay)
{
    setAccessibleName(tr("What ends in a region"));
    setEmptyText(tr("Which layers and channels put relevance into a part of the input? Open a model and run it, then "
                    "mark the part."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, px(2));
    column->addWidget(makeTop(body));
    m_answer = new QWidget(body);
    auto* row = makeBox<QHBoxLayout>(m_answer, {}, px(8));
    QWidget* values = makeValues(m_answer);
    values->setMaximumWidth(px(kValueWidth));
    row->addWidget(values, 1);
    row->addWidget(makeChannels(m_answer), 2);
    column->addWidget(m_answer, 1);
    column->addStretch(0);
    body->setMinimumSize(px(kPaneWidth), px(kPaneHeight)); // what does not fit is cut, the window stays as it is
    setBody(body);
    connect(&overlay, &RegionOverlay::changed, this, &RegionView::takeRegion);
    showButtons();
}

/// Buttons, and the sentence over the whole width: an answer in one line, or why there is none.
QWidget* RegionView::makeTop(QWidget* parent)
{
    auto* top = new QWidget(parent);
    auto* row = makeBox<QHBoxLayout>(top, {px(10), px(2), px(6), 0}, px(4));
    m_sentence = new QLabel(top);
    m_sentence->setFont(fonts::label());
    m_sentence->setTextFormat(Qt::PlainText);
    m_sentence->setWordWrap(true);
    m_sentence->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_buttons = new QHBoxLayout;
    m_buttons->setSpacing(px(4));
    row->addLayout(m_buttons);
    row->addWidget(m_sentence, 1);
    return top;
}

QWidget* RegionView::makeValues(QWidget* parent)
{
    auto* side = new QWidget(parent);
    auto* column = makeBox<QVBoxLayout>(side, {}, px(2));
    m_items = new RegionValuesModel(model(), side);
    m_values = newList(side, tr("Values by what they put into the region"), *m_items, px(20));
    m_values->setTextElideMode(Qt::ElideMiddle);
    QHeaderView* header = m_values->horizontalHeader();
    header->setMinimumSectionSize(px(30));
    header->setSectionResizeMode(QHeaderView::Fixed); // widths by content would measure all rows with every stroke
    header->setSectionResizeMode(RegionValuesModel::ValueColumn, QHeaderView::Stretch);
    for (int section = RegionValuesModel::PartColumn; section < RegionValuesModel::ColumnCount; ++section) {
        const QString word = m_items->headerData(section, Qt::Horizontal, Qt::DisplayRole).toString();
        const double widest = std::max(fonts::widthOf(fonts::label(QFont::DemiBold), word),
                                       fonts::widthOf(fonts::smallNumbers(), valueText(-1.234e-10)));
        header->resizeSection(section, static_cast<int>(widest) + px(10));
    }
    m_values->setToolTip(tr("Totals over a cut add up; a value beside a skip has less: the rest goes round it."));
    connect(m_values->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) {
        const base::ValueId value = m_items->valueAt(at.row());
        if (value.isValid() && !m_isFilling) {
            selection().selectValue(value);
            showValue(value);
        }
    });
    column->addWidget(m_values, 1);
    return side;
}

QWidget* RegionView::makeChannels(QWidget* parent)
{
    auto* side = new QWidget(parent);
    auto* column = makeBox<QVBoxLayout>(side, {0, px(2), px(6), 0}, px(2));
    auto* top = new QHBoxLayout;
    m_caption = new QLabel(side);
    m_caption->setFont(fonts::label());
    m_caption->setTextFormat(Qt::PlainText);
    m_axis = new QComboBox(side);
    m_axis->setFont(fonts::label());
    m_axis->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_caption->setMinimumWidth(1); // the choice beside it stays whole
    m_axis->setAccessibleName(tr("Axis along which the parts are ranked"));
    m_axis->setToolTip(tr("Channels, heads, features or positions: the axis along which the parts are ranked"));
    top->addWidget(m_caption, 1);
    top->addWidget(m_axis);
    column->addLayout(top);
    m_strip = new ChannelStrip(side);
    column->addWidget(m_strip, 1);
    auto* commands = new QWidget(side);
    auto* below = new FlowLayout(px(4), px(3), commands);
    below->setContentsMargins(0, 0, 0, px(2));
    m_only = makeButton(tr("Only"), tr("Run again with only the relevance that passes what is chosen"), side);
    m_also = makeButton(
        tr("And"), tr("Run again with only the relevance that passes the conditions of this run and what is chosen"),
        side);
    m_all = makeButton(tr("All"), tr("Run again without conditions"), side);
    m_maps = makeButton(tr("Maps"),
                        tr("The map of the input that each channel makes by itself, for what is chosen or the first "
                           "eight"),
                        side);
    m_form = new QComboBox(side);
    m_form->setFont(fonts::label());
    m_form->setAccessibleName(tr("What a condition keeps beside the relevance that it lets through"));
    m_form->setToolTip(tr("What a condition keeps beside the relevance that it lets through"));
    m_form->addItem(tr("nothing else"), QStringLiteral("only"));
    m_form->addItem(tr("and ways round"), QStringLiteral("beside"));
    for (QWidget* one : {static_cast<QWidget*>(m_only), static_cast<QWidget*>(m_also), static_cast<QWidget*>(m_form),
                         static_cast<QWidget*>(m_all), static_cast<QWidget*>(m_maps)}) {
        below->addWidget(one);
    }
    column->addWidget(commands);
    connect(m_axis, &QComboBox::currentIndexChanged, this, &RegionView::showChannels);
    connect(m_strip, &ChannelStrip::chosenChanged, this, &RegionView::showButtons);
    connect(m_only, &QToolButton::clicked, this, [this] { askConditions(false); });
    connect(m_also, &QToolButton::clicked, this, [this] { askConditions(true); });
    connect(m_all, &QToolButton::clicked, this, [this] {
        m_conditions.clear();
        emit conditionsWanted({}, QStringLiteral("only"));
    });
    connect(m_maps, &QToolButton::clicked, this, [this] {
        std::vector<std::int64_t> wanted = m_strip->chosen();
        for (std::size_t i = 0; m_strip->chosen().empty() && i < std::min(kMostMaps, m_strip->channels().size()); ++i) {
            wanted.push_back(m_strip->channels()[i].index);
        }
        if (!wanted.empty()) {
            emit mapsWanted(m_value, shownAxis(), wanted);
        }
    });
    return side;
}

void RegionView::addButtons(const QList<QAction*>& actions)
{
    for (QAction* action : actions) {
        auto* button = new QToolButton(this);
        button->setDefaultAction(action);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        button->setFont(fonts::label());
        m_buttons->addWidget(button);
    }
}

RegionPointer RegionView::region() const { return model().hasRun() ? m_overlay.of(model().sharedRun()) : nullptr; }

QString RegionView::sentence() const
{
    if (!m_refusal.isEmpty()) {
        return m_refusal;
    }
    const RegionPointer shown = region();
    if (!shown) {
        return m_asking.isEmpty() ? tr("Mark a part of the input: drag over the heatmap.") : m_asking;
    }
    const double share = shown->arrived == 0 ? 0 : shown->total / shown->arrived;
    QString text = tr("%1: %2 of %3 (%4) ends there.")
                       .arg(shown->text, valueText(shown->total), valueText(shown->arrived), percentText(share));
    const QString conditions = QString::fromStdString(model().run().facts.conditions);
    return conditions.isEmpty() ? text : text + QLatin1Char(' ') + tr("This run: %1.").arg(conditions);
}

QString RegionView::subject() const
{
    const RegionPointer shown = region();
    return shown ? tr("%1, %2 s").arg(shown->text, fixedText(shown->seconds, 3)) : QString();
}

QString RegionView::hint() const
{
    return tr("How much of each value's relevance ends in the marked part, and which channels put it there.");
}

bool RegionView::canShow(const SelectedThing& thing) const
{
    const RegionPointer shown = region();
    const base::ValueId value = model().hasRun() ? model().valueOf(thing) : base::ValueId();
    return shown && value.isValid() && shown->partOf(value) != nullptr;
}

void RegionView::setAsking(const QString& words)
{
    m_asking = words;
    m_refusal.clear();
    m_sentence->setText(sentence());
}

void RegionView::setConditions(const QStringList& conditions)
{
    m_conditions = conditions;
    showButtons();
}

void RegionView::setRefusal(const QString& why)
{
    m_refusal = why;
    m_asking.clear();
    m_sentence->setText(sentence());
    m_answer->setVisible(why.isEmpty());
    QPalette colors = m_sentence->palette();
    colors.setColor(QPalette::WindowText, theme(this)[why.isEmpty() ? Role::Text : Role::AlarmText]);
    m_sentence->setPalette(colors);
}

void RegionView::takeRegion()
{
    m_asking.clear();
    setRefusal({});
    fillValues();
    showValue(m_value);
    emit captionChanged();
}

void RegionView::fillValues()
{
    const bool wasFilling = std::exchange(m_isFilling, true);
    m_items->setRegion(region());
    if (m_items->rowOf(m_value) < 0) {
        m_value = firstWithMaps();
    }
    markRow();
    m_isFilling = wasFilling;
}

/// The first value with maps on the way from the class: what a person looks at first.
base::ValueId RegionView::firstWithMaps() const
{
    const RegionPointer shown = region();
    for (int row = 0; shown && row < m_items->rowCount(); ++row) {
        const base::ValueId value = m_items->valueAt(row);
        const tensor::Shape& shape = model().run().shapes[value.index()];
        const bool isInput = model().graph().isInput(model().graph().nodeOf(value));
        if (shown->partOf(value)->axis && !isInput && shape.size() >= 3 &&
            shape[shape.size() - 1] * shape[shape.size() - 2] > 1) {
            return value;
        }
    }
    return m_value;
}

/// The row of the value that is shown is the current one.
void RegionView::markRow()
{
    const int row = m_items->rowOf(m_value);
    if (row >= 0 && m_values->currentIndex().row() != row) {
        m_values->selectRow(row);
    }
}

QString RegionView::wordOfAxis(std::size_t axis) const
{
    const tensor::Shape& shape = model().run().shapes[m_value.index()];
    if (axis == 1 && shape.size() != 3) {
        return tr("channel");
    }
    if (shape.size() == 3) {
        return axis == 2 ? tr("feature") : tr("place");
    }
    return tr("axis %1:").arg(axis);
}

std::size_t RegionView::shownAxis() const { return static_cast<std::size_t>(m_axis->currentData().toUInt()); }

void RegionView::showValue(base::ValueId value)
{
    const RegionPointer shown = region();
    const RegionPart* part = shown ? shown->partOf(value) : nullptr;
    m_value = part != nullptr ? value : base::ValueId();
    {
        const QSignalBlocker blocker(m_axis);
        m_axis->clear();
        if (part != nullptr) {
            const tensor::Shape& shape = model().run().shapes[value.index()];
            for (std::size_t axis = 0; axis < shape.size(); ++axis) {
                if (shape[axis] > 1) {
                    m_axis->addItem(tr("axis %1 (%2)").arg(axis).arg(shape[axis]), static_cast<uint>(axis));
                }
                if (part->axis && axis == *part->axis && shape[axis] > 1) {
                    m_axis->setCurrentIndex(m_axis->count() - 1);
                }
            }
        }
    }
    showChannels();
}

void RegionView::showChannels()
{
    const RegionPointer shown = region();
    const RegionPart* part = shown ? shown->partOf(m_value) : nullptr;
    if (part == nullptr || m_axis->count() == 0) {
        m_strip->setChannels({}, 0, {});
        m_caption->setText(shown ? tr("Choose a value with channels.") : QString());
        return showButtons();
    }
    const std::size_t axis = shownAxis();
    const bool isOfClasses = m_value == model().run().facts.targetValue && axis == 1;
    std::vector<RegionChannel> classes =
        isOfClasses ? sharesOfClasses(*shown, m_value, kMostChannels) : std::vector<RegionChannel>();
    if (!classes.empty()) { // the weights do not know which class was explained
        m_strip->setChannels(std::move(classes), shown->total, tr("class"));
        m_caption->setText(tr("What each class would put into this region, from its score."));
        return showButtons();
    }
    m_strip->setChannels(rankedAlong(*shown, m_value, axis, kMostChannels), shown->total, wordOfAxis(axis));
    m_caption->setText(tr("What of %1 fed this region? Map: where in the layer.").arg(model().label(m_value)));
    showButtons();
}

QString RegionView::condition() const
{
    QStringList indices;
    for (const std::int64_t index : m_strip->chosen()) {
        indices << QString::number(index);
    }
    return indices.isEmpty() || !m_value.isValid() ? QString()
                                                   : QStringLiteral("%1:axis=%2:%3")
                                                         .arg(model().label(m_value))
                                                         .arg(shownAxis())
                                                         .arg(indices.join(QLatin1Char(',')));
}

void RegionView::showButtons()
{
    const bool isChosen = !m_strip->chosen().empty();
    const bool isConditional = model().hasRun() && !model().run().facts.conditions.empty();
    m_only->setEnabled(isChosen);
    m_also->setEnabled(isChosen && !m_conditions.isEmpty() && isConditional);
    m_all->setEnabled(isConditional);
    m_maps->setEnabled(!m_strip->channels().empty());
}

void RegionView::askConditions(bool isAdded)
{
    const QString asked = condition();
    if (asked.isEmpty()) {
        return;
    }
    m_conditions = isAdded ? m_conditions + QStringList{asked} : QStringList{asked};
    emit conditionsWanted(m_conditions, m_form->currentData().toString());
}

void RegionView::setMap(base::ValueId value, std::size_t axis, std::int64_t index, Plane map)
{
    if (value == m_value && axis == shownAxis()) {
        m_strip->setMap(index, std::move(map));
    }
}

void RegionView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        if (model().run().facts.conditions.empty()) {
            m_conditions.clear();
        }
        fillValues();
        showValue(m_value);
    }
    const base::ValueId selected = model().valueOf(selection().thing());
    const RegionPointer shown = region();
    if (changes.testFlag(Change::Selection) && shown && selected.isValid() && selected != m_value &&
        shown->partOf(selected) != nullptr) {
        const bool wasFilling = std::exchange(m_isFilling, true);
        showValue(selected);
        markRow();
        m_isFilling = wasFilling;
    }
    m_sentence->setText(sentence());
    showButtons();
}

std::string RegionView::csv(const RegionFacts& shown) const
{
    CsvText text({"value", "axis", "channel", "part", "relevance"});
    for (const RegionPart& part : shown.parts) {
        text.row(model().label(part.value), -1, -1, part.total, part.relevance);
        const std::vector<RegionChannel> channels =
            part.axis ? rankedAlong(shown, part.value, *part.axis, part.perChannel.size())
                      : std::vector<RegionChannel>();
        for (const RegionChannel& channel : channels) {
            text.row(model().label(part.value), *part.axis, channel.index, channel.part, channel.relevance);
        }
    }
    return text.take();
}

base::Result<void> RegionView::exportTo(const std::filesystem::path& path)
{
    const RegionPointer shown = region();
    if (!shown) {
        return base::usageError("no region is marked", path.string());
    }
    const QSizeF size(std::max(m_strip->width(), px(700)), std::max(m_strip->height(), px(190)));
    const auto paint = [&](QPainter& painter, const Theme& light) {
        m_strip->paint(painter, QRectF(QPointF(8, 4), size - QSizeF(16, 8)), light);
    };
    return write(path, csv(*shown), size, paint);
}

} // namespace retro::views

#include "moc_regionview.cpp"
