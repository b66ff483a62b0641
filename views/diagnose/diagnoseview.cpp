// SPDX-License-Identifier: Apache-2.0
#include "views/diagnose/diagnoseview.h"

#include "core/base/file.h"
#include "core/base/jsonout.h"
#include "views/common/paint/fonts.h"
#include "views/common/run/runtexts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/emptystate.h"
#include "views/common/widgets/listtable.h"
#include "views/common/widgets/tabletext.h"
#include "views/diagnose/findingrow.h"
#include "views/diagnose/nearestlist.h"
#include "views/diagnose/statisticsmodel.h"

#include <QActionGroup>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QScrollArea>
#include <QScrollBar>
#include <QShortcut>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace retro::views
{

namespace
{

/// More findings than that are counted in a last line.
constexpr std::size_t kMostRows = 60;

} // namespace

DiagnoseView::DiagnoseView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent), m_numbers(new StatisticsModel(this))
{
    setAccessibleName(tr("Diagnose"));
    setEmptyText(tr("What may be wrong with an explanation or its model appears here. Open a model first."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeHeader());
    column->addWidget(makeChange());
    m_stack = new QStackedWidget(body);
    m_empty = new EmptyState(m_stack);
    m_stack->addWidget(m_empty);
    m_stack->addWidget(makeList());
    m_stack->addWidget(makeTable());
    m_stack->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Ignored); // a low window stays low
    column->addWidget(m_stack, 1);
    column->addWidget(makeFoot());
    setBody(body);
    connect(m_empty, &EmptyState::activated, this, [this] { emit checkRequested(false); });
    for (const int by : {-1, 1}) {
        auto* shortcut = new QShortcut(QKeySequence(by < 0 ? Qt::ALT | Qt::Key_Up : Qt::ALT | Qt::Key_Down), this);
        shortcut->setContext(Qt::WidgetWithChildrenShortcut);
        connect(shortcut, &QShortcut::activated, this, [this, by] { step(by); });
    }
    applyState();
}

QWidget* DiagnoseView::makeHeader()
{
    auto* box = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(box, {fonts::px(12), fonts::px(6), fonts::px(12), fonts::px(6)}, fonts::px(5));
    auto* first = new QHBoxLayout;
    first->addWidget(makeSegments(box));
    first->addStretch(1);
    column->addLayout(first);
    auto* second = new QHBoxLayout;
    second->setSpacing(fonts::px(8));
    m_summary = new QLabel(box);
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setWordWrap(true);
    m_summary->setFont(fonts::label());
    m_summary->setObjectName(QStringLiteral("summary"));
    m_summary->setAccessibleName(tr("What was found"));
    second->addWidget(m_summary, 1);
    second->addWidget(makeCheckButton(box), 0, Qt::AlignTop);
    column->addLayout(second);
    m_headline = new QLabel(box);
    m_headline->setObjectName(QStringLiteral("headline"));
    m_headline->setTextFormat(Qt::PlainText);
    m_headline->setWordWrap(true);
    m_headline->setFont(fonts::label());
    m_headline->setAccessibleName(tr("What holds as a whole"));
    m_headline->setToolTip(tr("What holds of the explanation as a whole; what is unusual stands behind a \"!\""));
    m_headline->setMinimumWidth(1); // names may be long: they do not widen the window
    column->addWidget(m_headline);
    return box;
}

QWidget* DiagnoseView::makeSegments(QWidget* parent)
{
    struct Segment
    {
        const char* text;
        const char* tip;
    };
    constexpr std::array kSegments{
        Segment{QT_TR_NOOP("All"), QT_TR_NOOP("Everything that was found")},
        Segment{QT_TR_NOOP("Serious"), QT_TR_NOOP("Without notes")},
        Segment{QT_TR_NOOP("Model"), QT_TR_NOOP("What is about the file and its numbers")},
        Segment{QT_TR_NOOP("Rules"), QT_TR_NOOP("What is about rules and target, and about where relevance goes")}};
    auto* box = new QWidget(parent);
    auto* row = makeBox<QHBoxLayout>(box, {}, 0);
    auto* group = new QActionGroup(this);
    for (std::size_t i = 0; i < kSegments.size(); ++i) {
        auto* action = new QAction(tr(kSegments[i].text), group);
        action->setCheckable(true);
        action->setToolTip(tr(kSegments[i].tip));
        auto* button = new QToolButton(box);
        button->setDefaultAction(action);
        button->setProperty("segment", true);
        button->setFont(fonts::label());
        button->setFocusPolicy(Qt::StrongFocus);
        row->addWidget(button);
        connect(action, &QAction::triggered, this, [this, i] { setFilter(static_cast<FindingFilter>(i)); });
        m_segments[i] = button;
    }
    m_segments.front()->defaultAction()->setChecked(true);
    return box;
}

QToolButton* DiagnoseView::makeCheckButton(QWidget* parent)
{
    m_check = new QToolButton(parent);
    m_check->setObjectName(QStringLiteral("check"));
    m_check->setText(tr("Check ▾"));
    m_check->setAccessibleName(tr("Check"));
    m_check->setFont(fonts::label());
    m_check->setPopupMode(QToolButton::InstantPopup);
    m_check->setFocusPolicy(Qt::StrongFocus);
    auto* menu = new QMenu(m_check);
    menu->setToolTipsVisible(true);
    const auto add = [&](const QString& text, const QString& tip, auto&& signal) {
        QAction* action = menu->addAction(text);
        action->setToolTip(tip);
        connect(action, &QAction::triggered, this, std::forward<decltype(signal)>(signal));
        return action;
    };
    add(tr("Check again"), tr("Run every check that makes no further passes"), [this] { emit checkRequested(false); });
    add(tr("Check deeply"), tr("Also the checks that run the model again: this takes as long as some explanations do"),
        [this] { emit checkRequested(true); });
    menu->addSeparator();
    add(tr("Compare with…"),
        tr("Name a model, a recorded run or an input that is known to be good: what differs is found"),
        [this] { emit compareRequested(); });
    add(tr("Look at a folder…"),
        tr("Name a folder of inputs, with a table of their classes: what only many of them show is found"),
        [this] { emit folderRequested(); });
    m_forget = add(tr("This run alone"), tr("Check this run by itself again: beside nothing, without a folder"),
                   [this] { emit referenceDropped(); });
    menu->addSeparator();
    m_stop = add(tr("Stop checking"), tr("What is shown stays"), [this] { emit stopRequested(); });
    m_check->setMenu(menu);
    return m_check;
}

/// What the last change did, with the way back.
QWidget* DiagnoseView::makeChange()
{
    m_change = new QWidget(this);
    m_change->setAutoFillBackground(true);
    m_change->setBackgroundRole(QPalette::AlternateBase);
    auto* row =
        makeBox<QHBoxLayout>(m_change, {fonts::px(12), fonts::px(5), fonts::px(12), fonts::px(5)}, fonts::px(8));
    m_changeText = new QLabel(m_change);
    m_changeText->setObjectName(QStringLiteral("change"));
    m_changeText->setTextFormat(Qt::PlainText);
    m_changeText->setWordWrap(true);
    m_changeText->setFont(fonts::label());
    row->addWidget(m_changeText, 1);
    m_takeBack = new QToolButton(m_change);
    m_takeBack->setObjectName(QStringLiteral("takeback"));
    m_takeBack->setText(tr("Take back"));
    m_takeBack->setToolTip(tr("Ask as before this change and run again"));
    m_takeBack->setFocusPolicy(Qt::StrongFocus);
    row->addWidget(m_takeBack, 0, Qt::AlignTop);
    connect(m_takeBack, &QToolButton::clicked, this, &DiagnoseView::takeBackRequested);
    m_change->hide();
    return m_change;
}

QWidget* DiagnoseView::makeList()
{
    m_list = new QWidget(this);
    m_column = new QVBoxLayout(m_list);
    m_column->setContentsMargins(0, 0, 0, 0);
    m_column->setSpacing(0);
    m_nearest = new NearestList(m_list);
    m_nearest->hide();
    m_column->addWidget(m_nearest);
    m_column->addStretch(1);
    m_scroll = qobject_cast<QScrollArea*>(makeScroll(m_list));
    m_scroll->setFocusPolicy(Qt::NoFocus);
    return m_scroll;
}

QWidget* DiagnoseView::makeTable()
{
    m_table = views::newList(this, tr("Statistics of all checks"), *m_numbers, fonts::px(22));
    m_table->setObjectName(QStringLiteral("numbers"));
    m_table->horizontalHeader()->setStretchLastSection(true);
    setColumnWidths(*m_table, {150, 76, 62, 190});
    connect(m_table, &QTableView::activated, this, [this](const QModelIndex& index) {
        diagnosis::Finding place;
        place.place.name = m_numbers->at(index.row())->largestAt;
        goTo(place);
    });
    return m_table;
}

QWidget* DiagnoseView::makeFoot()
{
    m_foot = new QWidget(this);
    m_foot->setMinimumHeight(1); // in a low pane the findings come first
    auto* row = makeBox<QHBoxLayout>(m_foot, {fonts::px(12), fonts::px(6), fonts::px(12), fonts::px(6)}, fonts::px(8));
    m_quiet = new QLabel(m_foot);
    m_quiet->setObjectName(QStringLiteral("quiet"));
    m_quiet->setTextFormat(Qt::PlainText);
    m_quiet->setFont(fonts::label());
    m_quiet->setWordWrap(true);
    row->addWidget(m_quiet, 1);
    m_showNumbers = new QToolButton(m_foot);
    m_showNumbers->setObjectName(QStringLiteral("shownumbers"));
    m_showNumbers->setFont(fonts::label());
    m_showNumbers->setFocusPolicy(Qt::StrongFocus);
    row->addWidget(m_showNumbers);
    connect(m_showNumbers, &QToolButton::clicked, this, [this] { showNumbers(!m_showsNumbers); });
    return m_foot;
}

bool DiagnoseView::canShow(const SelectedThing& thing) const { return std::holds_alternative<base::NodeId>(thing); }

QString DiagnoseView::summary() const { return m_summary->text().remove(QChar(0x200B)); }

void DiagnoseView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Theme)) {
        applyState();
        m_table->viewport()->update();
    }
}

void DiagnoseView::setState(const DiagnosisState& state)
{
    if (state == m_state) {
        return;
    }
    const bool isOther = state.diagnosis != m_state.diagnosis || state.setAside != m_state.setAside;
    if (state.folder != m_state.folder || state.reference != m_state.reference) {
        m_currentKey.clear(); // beside something else its first finding is wanted
    }
    m_state = state;
    if (isOther) {
        m_numbers->setDiagnosis(m_state.diagnosis);
        fillRows();
    }
    applyState();
    emit captionChanged();
}

void DiagnoseView::applyState()
{
    const bool hasError = m_state.diagnosis && !m_state.isStale && m_state.stage.isEmpty() &&
                          m_state.diagnosis->count(diagnosis::Level::Error) > 0;
    QPalette colors = m_summary->palette();
    colors.setColor(QPalette::WindowText, theme(this)[hasError ? Role::AlarmText : Role::Text2]);
    m_summary->setPalette(colors);
    QString summary = summaryOf(m_state);
    if (!m_state.reference.isEmpty()) {
        summary += tr(" · beside %1").arg(m_state.reference);
    }
    if (!m_state.folder.isEmpty()) {
        summary += tr(" · with folder %1").arg(m_state.folder);
    }
    m_summary->setText(breakable(summary));
    const std::string headline = m_state.diagnosis ? diagnosis::headlineOf(m_state.diagnosis->head) : std::string();
    m_headline->setText(breakable(QString::fromStdString(headline)));
    m_headline->setEnabled(!m_state.isStale);
    m_headline->setVisible(!headline.empty());
    m_forget->setEnabled(!m_state.reference.isEmpty() || !m_state.folder.isEmpty());
    m_stop->setEnabled(!m_state.stage.isEmpty());
    m_check->setEnabled(m_state.refusal.isEmpty() && (!m_state.isStale || !m_state.stage.isEmpty()));
    m_check->setToolTip(m_state.refusal.isEmpty() ? tr("Check again, check deeply, compare with something good")
                                                  : m_state.refusal);
    m_change->setVisible(!m_state.change.isEmpty());
    m_changeText->setText(breakable(m_state.change));
    m_changeText->setAccessibleName(m_state.change);
    m_takeBack->setVisible(m_state.canTakeBack);
    m_takeBack->setEnabled(!m_state.isStale);
    for (FindingRow* row : m_rows) {
        row->setStale(m_state.isStale);
    }
    m_foot->setVisible(m_state.diagnosis != nullptr);
    if (m_state.diagnosis) {
        m_quiet->setEnabled(!m_state.isStale);
        m_quiet->setText(restText(m_state));
    }
    showPage();
}

void DiagnoseView::showPage()
{
    m_showNumbers->setText(m_showsNumbers ? tr("Show findings") : tr("Show numbers"));
    m_showNumbers->setToolTip(m_showsNumbers
                                  ? tr("Back to what was found")
                                  : tr("The statistic of every check with its limit, and why some did not run"));
    if (m_showsNumbers && m_state.diagnosis) {
        m_stack->setCurrentWidget(m_table);
        return;
    }
    if (!m_rows.empty()) {
        m_stack->setCurrentWidget(m_scroll);
        return;
    }
    if (!m_state.diagnosis) {
        m_empty->showEmpty(summaryOf(m_state), {});
    } else if (!m_state.diagnosis->findings.empty()) {
        m_empty->showEmpty(tr("Nothing of this kind was found. All shows everything else."));
    } else if (m_state.diagnosis->failure) {
        m_empty->showError(QString::fromStdString(m_state.diagnosis->failure->text()), {});
    } else {
        m_stack->setCurrentWidget(m_scroll); // what came nearest
        return;
    }
    m_stack->setCurrentWidget(m_empty);
}

void DiagnoseView::clearRows()
{
    for (FindingRow* row : m_rows) {
        row->disconnect(this); // hiding one hands the keyboard to the next, which would make itself the current one
    }
    m_current = nullptr;
    m_rows.clear();
    m_fold = nullptr;
    m_column->removeWidget(m_nearest); // it stays
    while (QLayoutItem* item = m_column->takeAt(0)) {
        if (QWidget* widget = item->widget()) {
            widget->hide();
            widget->deleteLater(); // one of its buttons may have asked for it
        }
        delete item;
    }
}

void DiagnoseView::fillRows()
{
    clearRows();
    static const std::vector<diagnosis::Finding> kNone;
    std::vector<const diagnosis::Finding*> aside;
    std::size_t left = 0;
    for (const diagnosis::Finding& finding : m_state.diagnosis ? m_state.diagnosis->findings : kNone) {
        if (!passes(finding, m_filter)) {
            continue;
        }
        if (m_state.setAside.contains(keyOf(finding))) {
            aside.push_back(&finding);
        } else if (m_rows.size() < kMostRows) {
            addRow(finding, false);
        } else {
            ++left;
        }
    }
    addRest(left);
    addFold(aside.size());
    for (const diagnosis::Finding* finding : aside) {
        addRow(*finding, true);
    }
    m_column->addWidget(m_nearest);
    const bool isAll = m_filter == FindingFilter::All || (m_state.diagnosis && m_state.diagnosis->findings.empty());
    m_nearest->setDiagnosis(isAll ? m_state.diagnosis : nullptr);
    m_column->addStretch(1);
    if (!showFinding(m_currentKey) && !m_rows.empty() && m_rows.front()->isVisibleTo(m_list)) {
        makeCurrent(m_rows.front());
        bringIntoView(m_rows.front());
    }
}

void DiagnoseView::addRow(const diagnosis::Finding& finding, bool isSetAside)
{
    auto* row = new FindingRow(finding, m_offers ? m_offers(finding) : FindingOffer(), isSetAside, m_list);
    row->setStale(m_state.isStale);
    m_column->addWidget(row);
    row->setVisible(!isSetAside || m_showsAside); // at once, so that it can be the current one of a list that is shown
    m_rows.push_back(row);
    connect(row, &FindingRow::entered, this, [this, row] { makeCurrent(row); });
    connect(row, &FindingRow::goToRequested, this, &DiagnoseView::goTo);
    connect(row, &FindingRow::showRequested, this, [this](const diagnosis::Finding& shown) {
        goTo(shown);
        emit showRequested(shown);
    });
    connect(row, &FindingRow::mendRequested, this, &DiagnoseView::mendRequested);
    connect(row, &FindingRow::previewRequested, this, &DiagnoseView::previewRequested);
    if (m_preview.key == keyOf(finding)) {
        row->setPreview(m_preview);
    }
    connect(row, &FindingRow::setAsideRequested, this, &DiagnoseView::setAsideRequested);
}

void DiagnoseView::addRest(std::size_t left)
{
    if (left > 0) {
        auto* rest = new QLabel(tr("And %1 more; the report lists them all.").arg(left), m_list);
        rest->setFont(fonts::label());
        rest->setContentsMargins(fonts::px(36), fonts::px(6), fonts::px(12), fonts::px(6));
        m_column->addWidget(rest);
    }
}

/// What is no problem here stays folded at the end.
void DiagnoseView::addFold(std::size_t number)
{
    if (number == 0) {
        return;
    }
    m_fold = new QToolButton(m_list);
    m_fold->setObjectName(QStringLiteral("asides"));
    m_fold->setAutoRaise(true);
    m_fold->setCheckable(true);
    m_fold->setFont(fonts::label());
    m_fold->setFocusPolicy(Qt::StrongFocus);
    m_fold->setToolTip(tr("Findings that somebody said are no problem of this model"));
    m_fold->setProperty("number", QVariant::fromValue(number));
    auto* box = new QWidget(m_list);
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(fonts::px(8), fonts::px(5), fonts::px(12), fonts::px(5));
    row->addWidget(m_fold);
    row->addStretch(1);
    m_column->addWidget(box);
    connect(m_fold, &QToolButton::toggled, this, &DiagnoseView::showAside);
    showAside(m_showsAside);
}

void DiagnoseView::showAside(bool areShown)
{
    m_showsAside = areShown;
    m_fold->setChecked(areShown);
    m_fold->setText((areShown ? QStringLiteral("▾ ") : QStringLiteral("▸ ")) +
                    tr("%1 not a problem here").arg(m_fold->property("number").toULongLong()));
    for (FindingRow* row : m_rows) {
        if (m_state.setAside.contains(keyOf(row->finding()))) {
            row->setVisible(areShown);
        }
    }
}

void DiagnoseView::makeCurrent(FindingRow* row)
{
    if (m_current == row || row == nullptr) {
        return;
    }
    if (m_current != nullptr) {
        m_current->setCurrent(false);
    }
    m_current = row;
    m_currentKey = keyOf(row->finding());
    row->setEvidence(m_drawings ? m_drawings(row->finding()) : FindingEvidence());
    row->setCurrent(true);
}

void DiagnoseView::setPreview(const FindingPreview& preview)
{
    m_preview = preview;
    for (FindingRow* row : m_rows) {
        row->setPreview(keyOf(row->finding()) == preview.key ? preview : FindingPreview());
    }
}

bool DiagnoseView::showFinding(const std::string& key)
{
    const auto at = std::ranges::find_if(m_rows, [&](const FindingRow* row) {
        return keyOf(row->finding()) == key ||
               std::ranges::any_of(row->finding().also, [&](const auto& below) { return keyOf(below) == key; });
    });
    if (at == m_rows.end() || !(*at)->isVisibleTo(m_list)) {
        return false;
    }
    makeCurrent(*at);
    bringIntoView(*at);
    return true;
}

void DiagnoseView::step(int by)
{
    std::vector<FindingRow*> shown;
    std::ranges::copy_if(m_rows, std::back_inserter(shown),
                         [this](const FindingRow* row) { return row->isVisibleTo(m_list); });
    if (shown.empty()) {
        return;
    }
    const auto at = std::ranges::find(shown, m_current);
    const auto last = static_cast<std::ptrdiff_t>(shown.size()) - 1;
    const std::ptrdiff_t now = at == shown.end() ? (by > 0 ? -1 : last + 1) : at - shown.begin();
    FindingRow* next = shown[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(now + by, 0, last))];
    makeCurrent(next);
    next->setFocus(Qt::ShortcutFocusReason);
    bringIntoView(next);
}

/// Of a row that is higher than the pane its beginning.
void DiagnoseView::bringIntoView(FindingRow* row)
{
    m_list->layout()->activate();
    m_scroll->ensureWidgetVisible(row, 0, 0);
    const int top = row->mapTo(m_list, QPoint()).y();
    m_scroll->verticalScrollBar()->setValue(std::min(m_scroll->verticalScrollBar()->value(), top));
}

void DiagnoseView::setFilter(FindingFilter filter)
{
    m_segments[static_cast<std::size_t>(filter)]->defaultAction()->setChecked(true);
    if (filter != m_filter) {
        m_filter = filter;
        fillRows();
        showPage();
    }
}

void DiagnoseView::showNumbers(bool isShown)
{
    m_showsNumbers = isShown;
    showPage();
}

void DiagnoseView::goTo(const diagnosis::Finding& finding)
{
    if (!model().hasRun()) {
        return;
    }
    base::NodeId node = finding.place.node;
    if (m_state.graph != model().run().graph || !node.isValid() || node.index() >= model().graph().runNodeCount()) {
        const auto named = model().graph().findNode(finding.place.name); // in another graph, or in the file alone
        const auto value = model().graph().findValue(finding.place.name);
        node = named ? *named : value ? model().graph().nodeOf(*value) : base::NodeId();
    }
    if (!node.isValid()) {
        return;
    }
    selection().selectNode(node);
    if (const auto step = model().relevanceStep(node)) {
        cursor().moveTo(*step);
    }
}

void DiagnoseView::restoreState(const QByteArray& state)
{
    const int filter = state.toInt();
    setFilter(filter >= 0 && filter < static_cast<int>(m_segments.size()) ? static_cast<FindingFilter>(filter)
                                                                          : FindingFilter::All);
}

base::Result<void> DiagnoseView::exportTo(const std::filesystem::path& path)
{
    RETRO_TRY(const TableFormat format, tableFormatOf(path));
    if (!m_state.diagnosis) {
        return base::usageError("nothing was checked; run a model first", path.string());
    }
    if (format == TableFormat::Json) {
        return base::writeFile(path, base::jsonOut(diagnosis::jsonOf(*m_state.diagnosis), 1) + "\n");
    }
    if (!model().hasRun()) {
        return base::usageError("nothing was run; press Run first", path.string());
    }
    TableText text(format, "checks", runTexts(model().run(), model().position()),
                   {"check", "state", "largest", "limit", "where", "statistic"});
    for (const diagnosis::CheckRecord& record : m_state.diagnosis->checks) {
        text.row(record.check->id, record.isRun ? "run" : "not run",
                 record.isRun && record.sites > 0 ? std::optional(record.largest) : std::nullopt,
                 record.check->threshold, record.isRun ? record.largestAt : record.why, record.check->statistic);
    }
    return base::writeFile(path, text.take());
}

} // namespace retro::views

#include "moc_diagnoseview.cpp"
