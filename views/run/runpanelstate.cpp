// SPDX-License-Identifier: Apache-2.0
// What the run panel shows and answers; how it is built is in runpanel.cpp.
#include "views/run/runpanel.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/heatmapimage.h"
#include "views/common/paint/theme.h"
#include "views/common/stringlist.h"
#include "views/common/widgets/stepstrip.h"
#include "views/run/checkpointfields.h"
#include "views/run/fieldcontrol.h"
#include "views/run/overridefields.h"
#include "views/run/preparationfields.h"
#include "views/run/rewritefields.h"
#include "views/run/rulefields.h"
#include "views/run/thumbnailbutton.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCompleter>
#include <QLabel>
#include <QLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QToolButton>

#include <algorithm>

namespace retro::views
{

namespace
{

/// Share of the values of a thumbnail whose colour is not clipped.
constexpr double kThumbnailPercentile = 99.5;
/// Of a longer text or series there is no thumbnail.
constexpr std::size_t kMostSteps = 512;

/// What the target choice carries while a value is named in the line below it.
const QString kAnyValue = QStringLiteral("value");

void choose(QComboBox& box, const QString& data)
{
    const int at = box.findData(data);
    if (at >= 0) {
        box.setCurrentIndex(at);
    }
}

/// Words and steps beside each other, as high as the strip is long.
Plane stripOf(const tensor::Tensor& relevance)
{
    const std::vector<double> sums = stepSums(relevance);
    Plane strip{static_cast<int>(sums.size()), static_cast<int>(sums.size()), {}};
    for (std::size_t row = 0; row < sums.size() && sums.size() <= kMostSteps; ++row) {
        strip.values.insert(strip.values.end(), sums.begin(), sums.end());
    }
    return strip;
}

QImage thumbnailOf(const tensor::Tensor& relevance, bool isSteps)
{
    const auto plane = isSteps ? base::Result<Plane>(stripOf(relevance)) : channelSum(relevance);
    if (!plane || plane->values.empty()) {
        return {};
    }
    return heatmapOnly(*plane, symmetricScale(plane->values, kThumbnailPercentile), ColorMap());
}

/// What stands below the model's name.
QString summaryOf(const ModelFacts& facts)
{
    if (!facts.isRecorded) {
        return facts.summary;
    }
    const QString recorded =
        RunPanel::tr("This run of %1 answers one question. Open the model to ask again, or to cover pixels.")
            .arg(facts.name);
    return facts.summary.isEmpty() ? recorded : facts.summary + QLatin1Char('\n') + recorded;
}

QString first(const std::vector<std::string>& texts) { return texts.empty() ? QString() : text(texts.front()); }

/// Between the sources of several inputs, as the data of one choice; no name of a file has it.
constexpr QChar kNextInput = u'\0';

QString sourcesOf(const std::vector<std::string>& inputs) { return stringList(inputs).join(kNextInput); }

/// "cup.png", "n=3.npy, x=series.npy".
QString labelOf(const std::vector<std::string>& inputs)
{
    QStringList labels;
    for (const QString& input : stringList(inputs)) {
        const QString name = input.contains(QLatin1Char('=')) && inputs.size() > 1
                                 ? input.section(QLatin1Char('='), 0, 0) + QLatin1Char('=')
                                 : QString();
        labels << name + input.mid(name.size()).section(QLatin1Char('/'), -1);
    }
    return labels.join(QStringLiteral(", "));
}

/// Rewrites as RewriteFields has them: an optional one that is on stands behind a +.
QStringList rewritesOf(const engine::Question& question)
{
    QStringList names = stringList(question.noRewrite);
    for (const QString& name : stringList(question.rewrite)) {
        names << QLatin1Char('+') + name;
    }
    return names;
}

void setRewrites(const QStringList& names, engine::Question& question)
{
    for (const QString& name : names) {
        const bool isOn = name.startsWith(QLatin1Char('+'));
        (isOn ? question.rewrite : question.noRewrite).push_back(name.mid(isOn ? 1 : 0).toStdString());
    }
}

/// The value that a target names: what stands before its last colon.
QString valueOf(const QString& target) { return target.section(QLatin1Char(':'), 0, 0); }

} // namespace

void RunPanel::showModel(const ModelFacts& facts)
{
    const bool isOpen = !facts.name.isEmpty() && !facts.isRecorded;
    const QString summary = summaryOf(facts);
    const QString name = facts.isRecorded ? tr("Recorded run") : facts.name;
    m_model->setText(name.isEmpty() ? tr("No model is open") : name);
    m_summary->setText(summary);
    m_summary->setVisible(!summary.isEmpty());
    m_problem->setText(facts.problem);
    m_problem->setVisible(!facts.problem.isEmpty());
    m_passThrough->setVisible(facts.offersPassThrough);
    m_reopen = facts.reopen;
    const bool canReopen = !m_reopen.isEmpty();
    m_openModel->setText(canReopen ? tr("Open %1").arg(facts.name) : tr("Open model…"));
    m_openModel->setToolTip(canReopen ? m_reopen : tr("Open a model or a recorded run (Ctrl+O)"));
    m_openModel->setVisible(!isOpen);
    m_changeModel->setVisible(isOpen || canReopen);
    const QString closed =
        facts.isRecorded ? tr("This is a recorded run: open its model first") : tr("Open a model first");
    const bool runs = isOpen && facts.runsInPart;
    m_modelNotice = runs ? facts.problem : QString();
    m_modelRefusal = !isOpen ? closed : runs ? QString() : facts.problem;
}

void RunPanel::setModel(const ModelFacts& facts)
{
    const engine::Question before = question();
    const QString beforeTarget = first(before.targets);
    const bool isOpen = !facts.name.isEmpty() && !facts.isRecorded;
    const bool isSame = isOpenAlready(facts);
    showModel(facts);
    takeKind(facts);
    if (!isSame) {
        startQuestion(facts);
    }
    const QString inputName = facts.takesPictures ? tr("Picture") : tr("Data");
    m_inputName->setText(inputName);
    m_inputName->setMinimumWidth(m_inputName->sizeHint().width());
    m_input->setAccessibleName(inputName);
    m_input->clear();
    for (const InputChoice& choice : facts.inputs) {
        m_input->addItem(choice.label, choice.source);
    }
    m_target->clear();
    m_target->addItem(m_readsTexts ? tr("best word") : tr("predicted class"), QStringLiteral("argmax"));
    for (int i = 0; i < facts.labels.size(); ++i) {
        m_target->addItem(facts.labels[i], QString::number(i));
    }
    m_target->addItem(m_readsTexts ? tr("a word…") : tr("another value…"), kAnyValue);
    setValueNames(facts.values);
    m_preparation->setPreparation(facts.preparation);
    m_preparation->setTakesPictures(facts.takesPictures);
    m_follow->setVisible(facts.takesPictures); // only pictures are painted on
    m_preparation->setEnabled(isOpen);
    m_rewrites->setRewrites(facts.rewrites);
    choose(*m_input, sourcesOf(before.inputs));
    takeShapes(facts);
    const bool isKnown =
        m_readsTexts || m_target->findData(beforeTarget) >= 0 || facts.values.contains(valueOf(beforeTarget));
    const bool isKept = isSame && isKnown;
    chooseTarget(isKept ? beforeTarget : QStringLiteral("argmax"));
    for (const Field& field : m_fields) {
        field.widget->setEnabled(m_modelRefusal.isEmpty());
        field.widget->setToolTip(m_modelRefusal.isEmpty() ? field.tip : m_modelRefusal);
    }
    m_rules->setEnabled(m_modelRefusal.isEmpty());
    takeCheckpoints(facts, before, isSame);
    setCheck({});
    setNote({});
    holdWidth();
}

bool RunPanel::isAsked(const engine::QuestionField& field) const
{
    return (!field.isOfTexts || m_readsTexts) && (field.name != "lut-backend" || m_hasLutLayers) &&
           (field.name != "checkpoint-every" || m_hasLoops);
}

/// A model of texts has other fields: a text in place of a file, words in place of classes.
void RunPanel::takeKind(const ModelFacts& facts)
{
    m_readsTexts = facts.readsTexts;
    m_hasLutLayers = facts.hasLutLayers;
    m_hasLoops = facts.hasLoops;
    for (const TableField& one : m_tableFields) {
        const bool isShown = isAsked(*one.field);
        one.label->setVisible(isShown);
        one.widget->setVisible(isShown);
        if (one.button != nullptr) {
            one.button->setVisible(isShown);
        }
    }
    m_value->setAccessibleName(m_readsTexts ? tr("Word to explain") : tr("Value to explain"));
    m_value->setToolTip(m_readsTexts
                            ? tr("A word as it stands inside a text (\" Paris\", with its space), the number of "
                                 "a token, or the name of a value with indices")
                            : tr("Name of a value, with indices if wanted: /block1/add:0,3"));
    m_value->setPlaceholderText(m_readsTexts ? tr("word, or number of a token") : tr("name, or name:i,j"));
}

void RunPanel::focusText()
{
    for (const TableField& one : m_tableFields) {
        if (one.field->isLong && m_readsTexts) {
            one.widget->setFocus(Qt::OtherFocusReason);
        }
    }
}

void RunPanel::setTokenizer(const QString& file)
{
    for (const TableField& one : m_tableFields) {
        if (one.field->name == "tokenizer") {
            showTexts({file.toStdString()}, *one.widget);
            emit questionChanged();
        }
    }
}

void RunPanel::takeShapes(const ModelFacts& facts)
{
    m_shape->setText(facts.shapes);
    m_shape->setPlaceholderText(facts.shapeHint);
    m_shapeName->setVisible(!facts.shapeHint.isEmpty());
    m_shape->setVisible(!facts.shapeHint.isEmpty());
}

/// The model that is open, read again, or that of the recorded run that is open.
bool RunPanel::isOpenAlready(const ModelFacts& facts) const
{
    const bool isSameFile = facts.file == m_modelFile || facts.file.isEmpty() || m_modelFile.isEmpty();
    return facts.name == m_modelName && isSameFile;
}

/// What was asked of another model says nothing of this one; only the text that it was given may be wanted here, too.
void RunPanel::startQuestion(const ModelFacts& facts)
{
    for (const TableField& one : m_tableFields) {
        if (one.field->name != "text" && one.field->name != "ids") {
            const std::string usual(one.field->usual.empty() && !one.field->choices.empty()
                                        ? one.field->choices.front().text
                                        : one.field->usual);
            showTexts(usual.empty() ? std::vector<std::string>() : std::vector<std::string>{usual}, *one.widget);
        }
    }
    chooseComposite(facts.composite);
}

void RunPanel::chooseComposite(const QString& composite)
{
    const QString base = baseOf(composite);
    if (m_composite->findData(base) < 0 && !base.isEmpty()) {
        m_composite->addItem(compositeTitle(base), base);
    }
    choose(*m_composite, base);
    m_rules->setSpecification(composite);
}

void RunPanel::takeCheckpoints(const ModelFacts& facts, const engine::Question& before, bool isSame)
{
    m_modelName = facts.name;
    m_modelFile = facts.file;
    setConditions(isSame ? before.conditions : std::vector<std::string>(), before.conditionForm);
    m_overrides->setOverrides(isSame ? stringList(before.rules) : facts.rules);
    QStringList values = isSame ? stringList(before.checkpoints) : facts.checkpoints;
    values.removeIf([&](const QString& value) { return !facts.values.contains(value); });
    m_checkpoints->setCheckpoints(values, isSame ? before.stopAtCheckpoints : facts.stopsAtCheckpoints);
    emit checkpointsChanged(values);
}

void RunPanel::setCheckpoint(const QString& value, bool isOn)
{
    QStringList values = m_checkpoints->checkpoints();
    if (values.contains(value) == isOn) {
        return;
    }
    if (isOn) {
        values << value;
    } else {
        values.removeAll(value);
    }
    m_checkpoints->setCheckpoints(values, m_checkpoints->stopsThere());
    holdWidth();
    emit checkpointsChanged(values);
    emit questionChanged();
}

void RunPanel::setOverrides(const QStringList& overrides)
{
    m_overrides->setOverrides(overrides);
    holdWidth();
}

void RunPanel::setPredicted(const QString& className)
{
    const QString unknown = m_readsTexts ? tr("best word") : tr("predicted class");
    const QString known = m_readsTexts ? tr("best: %1") : tr("predicted: %1");
    m_target->setItemText(0, className.isEmpty() ? unknown : known.arg(className));
}

void RunPanel::setValueNames(const QStringList& names)
{
    auto* completer = new QCompleter(names, m_value);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    completer->setFilterMode(Qt::MatchContains);
    m_value->setCompleter(completer); // deletes the one before
}

void RunPanel::chooseTarget(const QString& target)
{
    if (m_target->findData(target) >= 0) {
        choose(*m_target, target);
    } else if (!target.isEmpty()) {
        choose(*m_target, kAnyValue);
        m_value->setText(target);
    }
    m_value->setVisible(m_target->currentData().toString() == kAnyValue);
}

void RunPanel::setConditions(const std::vector<std::string>& conditions, const std::string& form)
{
    m_conditions = conditions;
    m_conditionForm = conditions.empty() ? std::string() : form;
    const QString words = stringList(conditions).join(QStringLiteral("; "));
    m_passes->setText(tr("Only what passes %1 ✕")
                          .arg(words.size() > 24 ? words.left(10) + QStringLiteral("…") + words.right(13) : words));
    m_passes->setToolTip(tr("Only relevance that passes %1 is explained. A click explains all of it.").arg(words));
    m_passes->setAccessibleName(m_passes->toolTip());
    m_passes->setVisible(!conditions.empty());
}

void RunPanel::takeTarget()
{
    const bool isValue = m_target->currentData().toString() == kAnyValue;
    m_value->setVisible(isValue);
    if (isValue) {
        m_value->setFocus(Qt::OtherFocusReason);
    } else {
        emit questionChanged();
    }
}

void RunPanel::takePreparation()
{
    showRunButton();
    if (m_preparation->problem().isEmpty()) {
        emit questionChanged();
    }
}

void RunPanel::setCheck(const QuestionCheck& check)
{
    m_checkRefusal = check.problem;
    m_preparation->setPreview(check.preview);
    const bool isOpen = m_openModel->isHidden();
    const QString& ofQuestion = check.problem.isEmpty() ? m_modelNotice : check.problem;
    m_problem->setText(isOpen && !m_modelRefusal.isEmpty() ? m_modelRefusal : ofQuestion);
    m_problem->setVisible(!m_problem->text().isEmpty());
    m_estimate->setText(check.estimate);
    m_estimate->setToolTip(check.estimate);
    m_estimate->setVisible(!check.estimate.isEmpty());
    m_applies->setText(check.rules);
    m_applies->setToolTip(tr("Rules and how many nodes follow them: %1").arg(check.rules));
    m_applies->setVisible(!check.rules.isEmpty());
    m_reason->setText(check.reason);
    m_reason->setToolTip(check.reason);
    m_reason->setVisible(!check.reason.isEmpty());
    showRunButton();
}

void RunPanel::setNote(const QString& note)
{
    m_note->setText(note);
    m_note->setVisible(!note.isEmpty());
}

QString RunPanel::refusal() const
{
    for (const QString* reason : {&m_modelRefusal, &m_preparation->problem(), &m_checkRefusal}) {
        if (!reason->isEmpty()) {
            return *reason;
        }
    }
    return {};
}

void RunPanel::holdWidth()
{
    m_area->widget()->layout()->activate(); // rows inside of rows know of new words only now
    const int pictures = 2 * m_thumbnails.front()->minimumSizeHint().width() + fonts::px(kGap + 2 * kMargin);
    const int content = std::max(pictures, m_area->widget()->minimumSizeHint().width());
    m_area->setMinimumWidth(content + style()->pixelMetric(QStyle::PM_ScrollBarExtent));
}

void RunPanel::showRunButton()
{
    m_run->setText(m_isRunning ? tr("Stop") : tr("Run"));
    const QString reason = refusal();
    m_run->setEnabled(m_isRunning || reason.isEmpty());
    const QString ready = reason.isEmpty() ? tr("Explain this input (Ctrl+R)") : reason;
    m_run->setToolTip(m_isRunning ? tr("Stop this run (Esc)") : ready);
}

void RunPanel::setQuestion(const engine::Question& question)
{
    const QString inputs = sourcesOf(question.inputs);
    if (m_input->findData(inputs) < 0 && !inputs.isEmpty()) {
        m_input->addItem(labelOf(question.inputs), inputs);
    }
    choose(*m_input, inputs);
    chooseTarget(first(question.targets));
    setConditions(question.conditions, question.conditionForm);
    for (const TableField& one : m_tableFields) {
        showTexts(engine::textsOf(*one.field, question), *one.widget);
    }
    chooseComposite(text(question.composite));
    setOverrides(stringList(question.rules));
    m_rewrites->setOff(rewritesOf(question));
    m_shape->setText(stringList(question.shapes).join(QLatin1Char(' ')));
    const QStringList checkpoints = stringList(question.checkpoints);
    if (checkpoints != m_checkpoints->checkpoints() || question.stopAtCheckpoints != m_checkpoints->stopsThere()) {
        m_checkpoints->setCheckpoints(checkpoints, question.stopAtCheckpoints);
        emit checkpointsChanged(checkpoints);
    }
    const Preparation preparation = preparationOf(question, m_preparation->preparation());
    if (preparation != m_preparation->preparation()) {
        m_preparation->setPreparation(preparation);
    }
}

engine::Question RunPanel::question() const
{
    engine::Question question;
    question.inputs = textsOf(m_input->currentData().toString().split(kNextInput, Qt::SkipEmptyParts));
    const QString target = m_target->currentData().toString();
    const QString written = m_readsTexts ? m_value->text() : m_value->text().trimmed(); // words begin with spaces
    question.targets = {(target == kAnyValue ? written : target).toStdString()};
    for (const TableField& one : m_tableFields) {
        if (isAsked(*one.field)) {
            engine::setTexts(*one.field, textsIn(*one.field, *one.widget), question);
        }
    }
    if (!question.contrast.empty() && question.start == engine::questionField("start").usual) {
        question.start.clear(); // the contrast says where relevance starts
    }
    question.conditions = m_conditions;
    question.conditionForm = m_conditionForm;
    question.composite = m_rules->specification().toStdString();
    question.rules = textsOf(m_overrides->overrides());
    setPreparation(m_preparation->preparation(), question);
    setRewrites(m_rewrites->off(), question);
    question.checkpoints = textsOf(m_checkpoints->checkpoints());
    question.stopAtCheckpoints = m_checkpoints->stopsThere();
    question.shapes = textsOf(m_shape->text().split(QLatin1Char(' '), Qt::SkipEmptyParts));
    return question;
}

void RunPanel::setThumbnails(const std::vector<CompositeThumbnail>& thumbnails, const QString& current)
{
    for (std::size_t i = 0; i < m_thumbnails.size(); ++i) {
        ThumbnailButton& button = *m_thumbnails[i];
        const bool isUsed = i < thumbnails.size();
        button.setVisible(isUsed);
        if (!isUsed) {
            continue;
        }
        button.setText(compositeTitle(thumbnails[i].composite));
        button.setToolTip(tr("Explain with %1").arg(button.text()));
        button.setAccessibleName(button.toolTip());
        button.setProperty("composite", thumbnails[i].composite);
        button.setChecked(thumbnails[i].composite == baseOf(current));
        button.setImage(thumbnailOf(thumbnails[i].relevance, thumbnails[i].isSteps));
    }
}

void RunPanel::setRunning(bool isRunning)
{
    m_isRunning = isRunning;
    showRunButton();
}

void RunPanel::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    // Qt 6.4 drops the resize by which the scroll area makes its content high enough while both are shown first.
    m_area->widget()->layout()->update();
}

void RunPanel::applyColors()
{
    QPalette palette = m_problem->palette();
    palette.setColor(QPalette::WindowText, theme(this)[Role::AlarmText]);
    m_problem->setPalette(palette);
    palette.setColor(QPalette::WindowText, theme(this)[Role::Text3]);
    m_note->setPalette(palette);
    m_summary->setPalette(palette);
}

} // namespace retro::views
