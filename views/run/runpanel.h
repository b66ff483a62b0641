// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/question/fields.h"
#include "views/run/runfacts.h"

#include <QWidget>

#include <vector>

class QCheckBox;
class QComboBox;
class QGridLayout;
class QLabel;
class QLayout;
class QLineEdit;
class QPushButton;
class QScrollArea;
class QToolButton;

namespace retro::views
{

class CheckpointFields;
class OverrideFields;
class PreparationFields;
class RewriteFields;
class RuleFields;
class ThumbnailButton;

/// What to explain and how: model, input, question, rules. Says what was chosen; runs nothing itself. Scrolls when it
/// is lower than its content, and is never narrower. GUI thread.
class RunPanel final : public QWidget
{
    Q_OBJECT

public:
    explicit RunPanel(QWidget* parent = nullptr);

    /// Another model: fills the choices and keeps what still fits.
    void setModel(const ModelFacts& facts);
    /// What the run on screen was asked with.
    void setQuestion(const engine::Question& question);
    [[nodiscard]] engine::Question question() const;
    /// A model is open that runs once it has an input.
    [[nodiscard]] bool canRun() const { return m_modelRefusal.isEmpty(); }
    /// The next run takes the relevance of that value when it is final, or no longer. Says checkpointsChanged().
    void setCheckpoint(const QString& value, bool isOn);
    /// Rules that stand before the composite's, without saying overridesChanged().
    void setOverrides(const QStringList& overrides);
    /// What the model answered: the choice "predicted class" names it. Empty = not known.
    void setPredicted(const QString& className);
    /// Small heatmaps of composites for the present input; a click on one runs it.
    void setThumbnails(const std::vector<CompositeThumbnail>& thumbnails, const QString& current);
    /// What is known of the question before it runs: the input as the model will get it, which rules apply, what is
    /// refused.
    void setCheck(const QuestionCheck& check);
    /// A line under the button: where the choices are kept. Empty hides it.
    void setNote(const QString& note);
    /// The model reads a text.
    [[nodiscard]] bool readsTexts() const { return m_readsTexts; }
    /// The model has Loop or Scan: how often they keep what they carry can be chosen.
    [[nodiscard]] bool hasLoops() const { return m_hasLoops; }
    /// Puts the caret into the text, where the model reads one.
    void focusText();
    /// The file that words are read by.
    void setTokenizer(const QString& file);
    /// A job is running: the button says Stop, also while the first model is still being read.
    void setRunning(bool isRunning);
    /// Composites that can be chosen, the first is the default.
    [[nodiscard]] static QStringList composites();
    /// Name of a composite for people: "Epsilon + z-plus".
    [[nodiscard]] static QString compositeTitle(const QString& composite);

signals:
    void openModelRequested();
    /// Open the model of the recorded run, which lies there.
    void reopenRequested(const QString& path);
    /// The model shall be opened once more, its unsupported operators handing their operands on.
    void passThroughRequested();
    void openInputRequested();
    void openTokenizerRequested();
    /// Run was pressed.
    void runRequested();
    /// Explain what is asked now, as Run does, but keep nothing of it: a small heatmap was clicked.
    void askRequested();
    void stopRequested();
    /// A node of the graph by its name: what a rewrite made is to be seen.
    void nodeWanted(const QString& name);
    /// Another input, preparation, target or composite was chosen; nothing runs yet.
    void questionChanged();
    /// Other checkpoints were chosen.
    void checkpointsChanged(const QStringList& values);
    /// A number of the composite was turned: explain again at once.
    void ruleNumbersChanged();
    /// Rules that stood before the composite's were taken back: explain again at once.
    void overridesChanged();
    /// Whether covering pixels explains again by itself.
    void followChanged(bool isFollowing);

protected:
    void showEvent(QShowEvent* event) override;

private:
    // Design pixels.
    static constexpr double kMargin = 12;
    static constexpr double kGap = 8;

    /// A control that needs a model.
    struct Field
    {
        QWidget* widget;
        QString tip;
    };
    /// A control that is made from the table of the question alone.
    struct TableField
    {
        const engine::QuestionField* field;
        QWidget* widget;
        QWidget* label;
        QWidget* button; ///< that chooses a file; or null
    };

    void addModel(QGridLayout& grid);
    void addQuestion(QGridLayout& grid);
    void addRules(QGridLayout& grid);
    void addSection(QGridLayout& grid, const QString& title);
    /// Title and tip are those of the question's field.
    QLabel* addField(QGridLayout& grid, const engine::QuestionField& asked, QWidget& field, QWidget* extra = nullptr);
    /// Those of the data when `areOfData`, else the others.
    void addTableFields(QGridLayout& grid, bool areOfData);
    [[nodiscard]] bool isAsked(const engine::QuestionField& field) const; ///< of this kind of model
    void takeKind(const ModelFacts& facts);
    void prepare(QWidget& field, const engine::QuestionField& asked);
    [[nodiscard]] QToolButton* makeOpenButton(const QString& tip);
    [[nodiscard]] QLayout* makeThumbnails();
    [[nodiscard]] QLayout* makeFoot();
    void showModel(const ModelFacts& facts);
    [[nodiscard]] bool isOpenAlready(const ModelFacts& facts) const;
    void startQuestion(const ModelFacts& facts);
    void chooseComposite(const QString& composite);
    void takeCheckpoints(const ModelFacts& facts, const engine::Question& before, bool isSame);
    void setValueNames(const QStringList& names);
    void chooseTarget(const QString& target);
    void takeTarget();
    void setConditions(const std::vector<std::string>& conditions, const std::string& form);
    void takePreparation();
    void addShape(QGridLayout& grid);
    void takeShapes(const ModelFacts& facts);
    /// Why nothing can be run; empty = it can.
    [[nodiscard]] QString refusal() const;
    void showRunButton();
    /// Never narrower than what it holds: there is no horizontal scroll bar, what lies beyond the edge is lost.
    void holdWidth();
    void applyColors();

    QScrollArea* m_area = nullptr;
    QLabel* m_model = nullptr;
    QLabel* m_summary = nullptr;
    QLabel* m_problem = nullptr;
    QPushButton* m_passThrough = nullptr;
    QLabel* m_inputName = nullptr;
    QComboBox* m_input = nullptr;
    QComboBox* m_target = nullptr;
    QComboBox* m_composite = nullptr;
    QToolButton* m_changeModel = nullptr;
    QToolButton* m_openInput = nullptr;
    QPushButton* m_openModel = nullptr;
    QPushButton* m_run = nullptr;
    std::vector<ThumbnailButton*> m_thumbnails;
    std::vector<Field> m_fields;
    std::vector<TableField> m_tableFields;
    PreparationFields* m_preparation = nullptr;
    RuleFields* m_rules = nullptr;
    OverrideFields* m_overrides = nullptr;
    RewriteFields* m_rewrites = nullptr;
    CheckpointFields* m_checkpoints = nullptr;
    QLineEdit* m_value = nullptr;
    QToolButton* m_passes = nullptr; ///< what relevance has to pass; a click asks without it
    std::vector<std::string> m_conditions;
    std::string m_conditionForm;
    QLabel* m_shapeName = nullptr;
    QLineEdit* m_shape = nullptr;
    QLabel* m_estimate = nullptr;
    QLabel* m_applies = nullptr;
    QLabel* m_reason = nullptr;
    QLabel* m_note = nullptr;
    QCheckBox* m_follow = nullptr;
    QString m_modelName;    ///< whose choices are kept when it is set again
    QString m_modelFile;    ///< where it lies
    QString m_reopen;       ///< model of the recorded run; empty = none, or not known where it lies
    QString m_modelRefusal; ///< of the model as a whole
    QString m_modelNotice;  ///< what is wrong with a part of it
    QString m_checkRefusal; ///< of this question
    bool m_isRunning = false;
    bool m_readsTexts = false;
    bool m_hasLutLayers = false;
    bool m_hasLoops = false;
};

} // namespace retro::views
