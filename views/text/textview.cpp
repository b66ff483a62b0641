// SPDX-License-Identifier: Apache-2.0
#include "views/text/textview.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/paintfile.h"
#include "views/common/run/runtexts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/flowlayout.h"
#include "views/text/linkspane.h"
#include "views/text/textfocus.h"
#include "views/text/wordstrip.h"

#include <QComboBox>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QSlider>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>

namespace retro::views
{

namespace
{

constexpr int kMostThreshold = 50; // per cent
constexpr int kUsualThreshold = 3;
constexpr double kPictureWidth = 900; // of a written picture, design pixels
constexpr double kPictureLinks = 230;

/// Makes the entries of a list anew and chooses one, without telling.
void fill(QComboBox& box, const QStringList& entries, int chosen)
{
    const QSignalBlocker quiet(&box);
    QStringList present;
    for (int i = 0; i < box.count(); ++i) {
        present << box.itemText(i);
    }
    if (present != entries) {
        box.clear();
        box.addItems(entries);
    }
    box.setCurrentIndex(chosen);
}

} // namespace

TextView::TextView(RunModel& model, Cursor& cursor, Selection& selection, TextFocus& focus, QWidget* parent)
    : View(model, cursor, selection, parent), m_focus(focus)
{
    setAccessibleName(tr("Text"));
    setEmptyText(tr("No text yet. Open a language model, write a text and run."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, fonts::px(4));
    m_parts = new QSplitter(Qt::Vertical, body);
    m_parts->setChildrenCollapsible(false);
    m_strip = new WordStrip(focus, m_parts);
    m_links = new LinksPane(focus, m_parts);
    m_parts->addWidget(m_strip);
    m_parts->addWidget(m_links);
    m_parts->setStretchFactor(0, 0);
    m_parts->setStretchFactor(1, 1);
    column->addWidget(makeTools());
    column->addWidget(m_parts, 1);
    setBody(body);
    connect(m_strip, &WordStrip::chosen, this, &TextView::chooseWord);
    connect(m_strip, &WordStrip::menuWanted, this, &TextView::showMenu);
    connect(m_links, &LinksPane::chosen, &focus, &TextFocus::setToken);
    connect(&focus, &TextFocus::textChanged, this, &TextView::takeText);
    connect(&focus, &TextFocus::changed, this, &TextView::takeFocus);
    takeFocus();
}

QWidget* TextView::makeTools()
{
    auto* tools = new QWidget(this);
    auto* row = new FlowLayout(fonts::px(8), fonts::px(2), tools);
    row->setContentsMargins(fonts::px(10), 0, fonts::px(10), 0);
    const auto add = [&](QWidget& widget, const QString& name, const QString& tip) {
        widget.setAccessibleName(name);
        widget.setToolTip(tip);
        row->addWidget(&widget);
    };
    m_step = new QComboBox(tools);
    m_step->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    add(*m_step, tr("Explained step"), tr("The question, and each word that the text went on with"));
    m_layer = new QComboBox(tools);
    add(*m_layer, tr("Layer"), tr("The attention whose links are shown"));
    m_head = new QComboBox(tools);
    add(*m_head, tr("Head"), tr("Links of one head, or of all heads together"));
    m_thresholdText = new QLabel(tools);
    m_thresholdText->setFont(fonts::label());
    row->addWidget(m_thresholdText);
    m_threshold = new QSlider(Qt::Horizontal, tools);
    m_threshold->setRange(0, kMostThreshold);
    m_threshold->setValue(kUsualThreshold);
    m_threshold->setFixedWidth(fonts::px(90));
    add(*m_threshold, tr("Smallest link"), tr("Links below this share of the largest one are left out"));
    connect(m_step, &QComboBox::activated, &m_focus, &TextFocus::setStep);
    connect(m_layer, &QComboBox::activated, &m_focus, &TextFocus::setLayer);
    connect(m_head, &QComboBox::activated, this, [this](int at) { m_focus.setHead(at - 1); });
    connect(m_threshold, &QSlider::valueChanged, this, &TextView::takeThreshold);
    return tools;
}

void TextView::takeThreshold()
{
    m_links->setThreshold(m_threshold->value() / 100.0);
    m_thresholdText->setText(tr("links over %1 %").arg(m_threshold->value()));
}

void TextView::takeText()
{
    takeFocus();
    schedule(Change::Run);
    emit captionChanged();
}

void TextView::takeFocus()
{
    takeThreshold();
    const bool hasText = m_focus.hasText();
    QStringList steps;
    QStringList layers;
    QStringList heads;
    if (hasText) {
        for (int i = 0; i < static_cast<int>(m_focus.text()->steps.size()); ++i) {
            steps << m_focus.stepLabel(i);
        }
        for (int i = 0; i < m_focus.layerCount(); ++i) {
            layers << tr("layer %1").arg(i);
        }
        heads << tr("all heads");
        for (int i = 0; i < m_focus.headCount(); ++i) {
            heads << tr("head %1").arg(i);
        }
    }
    fill(*m_step, steps, hasText ? m_focus.step() : -1);
    fill(*m_layer, layers, hasText ? m_focus.layer() : -1);
    fill(*m_head, heads, hasText ? m_focus.head() + 1 : -1);
    m_step->setVisible(steps.size() > 1);
    const bool hasLinks = hasText && m_focus.layerCount() > 0;
    for (QWidget* tool :
         {static_cast<QWidget*>(m_layer), static_cast<QWidget*>(m_threshold), static_cast<QWidget*>(m_thresholdText)}) {
        tool->setVisible(hasLinks);
    }
    m_head->setVisible(hasLinks && heads.size() > 2);
    emit captionChanged();
}

QString TextView::subject() const
{
    if (!m_focus.hasText()) {
        return {};
    }
    const trace::TextStep& shown = m_focus.shown();
    const QString words = tr("%1 words").arg(countText(m_focus.tokenCount()));
    return tr("%1, %2, score %3").arg(words, m_focus.stepTitle(m_focus.step()), valueText(shown.score));
}

QString TextView::hint() const
{
    return tr("A link is as thick as the relevance that one word handed to another through attention. Red speaks for "
              "the answer, blue and dashed against it. The right button asks behind a word.");
}

bool TextView::canShow(const SelectedThing& thing) const
{
    if (!model().hasRun() || !m_focus.hasText()) {
        return false;
    }
    const base::NodeId node = model().nodeOf(thing);
    return node.isValid() && model().graph().isInput(node);
}

QString TextView::emptyReason() const
{
    return m_focus.hasText() ? QString() : tr("This run is of no text, or was recorded without its words.");
}

/// The strip gets what its lines need, of a long text less than half.
void TextView::fitStrip()
{
    const int all = m_parts->height();
    const int wanted = static_cast<int>(m_strip->heightFor(m_parts->width())) + 2;
    const int strip = std::clamp(wanted, std::min(m_strip->minimumSizeHint().height(), all),
                                 std::max(all * 2 / 5, m_strip->minimumSizeHint().height()));
    m_parts->setSizes({strip, std::max(1, all - strip)});
}

void TextView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        fitStrip();
    }
    m_strip->viewport()->update();
    m_links->update();
}

void TextView::chooseWord(int token)
{
    const auto given = static_cast<int>(m_focus.text()->given);
    if (token >= given) { // the text went on with it: its own step says why
        m_focus.setStep(token - given + 1);
        return;
    }
    m_focus.setToken(token);
    if (!model().hasRun()) {
        return;
    }
    for (const base::ValueId input : model().graph().inputs()) {
        const base::NodeId node = model().graph().nodeOf(input);
        if (const auto step = model().relevanceStep(node)) {
            if (m_focus.step() == 0) {
                cursor().moveTo(*step);
            }
            selection().selectValue(input);
            return;
        }
    }
}

void TextView::showMenu(int token, const QPoint& place)
{
    const auto at = static_cast<std::size_t>(token);
    const int own = token - static_cast<int>(m_focus.text()->source);
    if (own < 0 || m_focus.text()->steps.front().position < 0) {
        return; // what an encoder reads, or a class of the whole text: no word is asked for there
    }
    QMenu menu(this);
    const QString word = m_focus.word(token);
    menu.addAction(tr("Ask for the word behind “%1”").arg(word), this,
                   [this, own] { emit questionWanted(own, QString()); });
    if (own > 0) {
        const QString number = QString::number(m_focus.text()->tokens[at].id);
        menu.addAction(tr("Ask why “%1” came here").arg(word), this,
                       [this, own, number] { emit questionWanted(own - 1, number); });
    }
    menu.exec(place);
}

base::Result<void> TextView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun() || !m_focus.hasText()) {
        return base::usageError("there is no text to write", path.string());
    }
    const std::string ending = path.extension().string();
    if (m_writer && (ending == ".html" || ending == ".json" || ending == ".csv")) {
        return m_writer(*m_focus.text(), model().run(), path);
    }
    const double width = std::max<double>(fonts::px(kPictureWidth), m_links->width());
    const double words = m_strip->heightFor(width);
    const double links = m_focus.layerCount() > 0 ? fonts::px(kPictureLinks) : 0;
    const QSizeF size(width, words + links + fonts::px(8));
    const auto paint = [&](QPainter& painter) {
        const Theme& light = Theme::of(ThemeKind::Light);
        painter.fillRect(QRectF(QPointF(), size), light[Role::Base]);
        m_strip->paintAll(painter, QRectF(0, fonts::px(4), width, words), light);
        if (links > 0) {
            painter.translate(0, words + fonts::px(4));
            m_links->paintAll(painter, QSizeF(width, links), light);
        }
    };
    return paintToFile(path, size, paint, title(), runTexts(model().run(), model().position()), 2);
}

QByteArray TextView::saveState() const { return QByteArray::number(m_threshold->value()); }

void TextView::restoreState(const QByteArray& state)
{
    bool isNumber = false;
    const int value = state.toInt(&isNumber);
    if (isNumber) {
        m_threshold->setValue(value);
    }
}

} // namespace retro::views

#include "moc_textview.cpp"
